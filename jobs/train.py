"""ray job submit --working-dir . --runtime-env jobs/runtime_env.yaml -- python jobs/train.py --config jobs/configs/demo.yaml

Train drafts on the dumped features, as a Ray job. Same options as `specflash train`.
"""

import sys

from flashbench.cli import main

if __name__ == "__main__":
    main(["train", *sys.argv[1:]])
