"""The workbench: everything that imports ray, deepspeed or mlflow. The algorithms are in `specflash`."""

import gc

# Importing torch, transformers and Ray makes a million objects that live as long as the process. Looked through
# at Python's usual pace, they cost every worker a fifth of the time it takes to start.
gc.set_threshold(50_000, 20, 50)
