"""The workbench: everything that imports ray, deepspeed or mlflow. The algorithms are in `specflash`."""
