"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/bench.py --config jobs/configs/demo.yaml

Time vanilla, EAGLE and SpecFLASH, as a Ray job. Same options as `specflash bench`.
Actors measure, `bench.actors` of them; for one GPU each add `bench.gpus_per_actor=1`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
