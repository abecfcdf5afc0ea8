"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/demo.py --config jobs/configs/demo.yaml

The main job from end to end, as a Ray job. Same options as `specflash demo`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["demo", *sys.argv[1:]])
