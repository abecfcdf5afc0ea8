"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/plan.py --config jobs/configs/demo.yaml

Say what a dump will take and whether the disk has room, as a Ray job. Same options as `specflash plan`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["plan", *sys.argv[1:]])
