"""Make the weights of the embedded target `llava-smol` from drawn scenes (hours on two cores).

    python jobs/build_target.py --folder runs/build-target

Seeded and resumable: the same command goes on where a killed one stopped.
"""

from flashbench.build_target import main

if __name__ == "__main__":
    main()
