"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/verify_dump.py --config jobs/configs/demo.yaml

Check a dump, as a Ray job. Same options as `specflash verify-dump`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["verify-dump", *sys.argv[1:]])
