"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/bench.py --config jobs/configs/demo.yaml

Time vanilla, EAGLE and SpecFLASH, as a Ray job. Same options as `specflash bench`.
It works in the job's own process: on a cluster whose head has no GPU add `--entrypoint-num-gpus 1`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
