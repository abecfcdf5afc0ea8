"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/verify.py --config jobs/configs/demo.yaml

Check that every draft is lossless, as a Ray job. Same options as `specflash verify`.
It works in the job's own process: on a cluster whose head has no GPU add `--entrypoint-num-gpus 1`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["verify", *sys.argv[1:]])
