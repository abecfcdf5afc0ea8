"""Time the target's passes by number of rows, to choose K for a machine.

    python jobs/time_forwards.py --dtype float32
"""

from flashbench.time_forwards import main

if __name__ == "__main__":
    main()
