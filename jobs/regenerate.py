"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/regenerate.py --config jobs/configs/demo.yaml

Have the target answer the questions of a data set, as a Ray job. Same options as `specflash regenerate`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["regenerate", *sys.argv[1:]])
