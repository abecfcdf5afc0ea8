"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/prepare.py --config jobs/configs/demo.yaml

Write the drawn scenes and check the data sets, as a Ray job. Same options as `specflash prepare`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["prepare", *sys.argv[1:]])
