"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/ab.py status --url http://HOST:8000

Begin, watch and end a campaign on a running server. Same options as `specflash ab`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["ab", *sys.argv[1:]])
