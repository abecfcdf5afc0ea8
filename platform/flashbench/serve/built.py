"""The application as a name, for `serve build flashbench.serve.built:app`, which takes no arguments.

The environment variable SPECFLASH_CONFIG names the experiment; without it, it is the demo.
"""

import os
from pathlib import Path

from flashbench.serve.app import AppArgs, build_app

app = build_app(AppArgs(config=Path(os.environ.get("SPECFLASH_CONFIG", "jobs/configs/demo.yaml"))))
