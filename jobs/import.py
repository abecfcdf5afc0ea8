"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/import.py --from PATH --config jobs/configs/demo.yaml

Take over features and answers of others, as a Ray job. Same options as `specflash import`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["import", *sys.argv[1:]])
