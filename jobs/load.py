"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/load.py --config jobs/configs/demo.yaml

Send mixed requests to a server and judge what comes back, as a Ray job. Same options as `specflash load`.
Here, without Ray, against one that runs already: python jobs/load.py --url http://127.0.0.1:8000
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["load", *sys.argv[1:]])
