"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/dump.py --config jobs/configs/demo.yaml

Extract the frozen target's features, as a Ray job. Same options as `specflash dump`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["dump", *sys.argv[1:]])
