"""Measure the embedded target `llava-smol` on held-out pictures: the figures of its card (a quarter of an hour on two cores).

    python jobs/measure_target.py --pictures 200
"""

from flashbench.measure_target import main

if __name__ == "__main__":
    main()
