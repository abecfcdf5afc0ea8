"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/serve.py --config jobs/configs/demo.yaml

Serve the methods side by side, as a Ray job. Same options as `specflash serve`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["serve", *sys.argv[1:]])
