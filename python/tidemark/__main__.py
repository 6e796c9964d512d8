"""python -m tidemark train.py ... runs a program under `tidemark run`; else it is the command line.

    python -m tidemark train.py --epochs 3    # tidemark run -- python train.py --epochs 3
    python -m tidemark -m package.train       # tidemark run -- python -m package.train
    python -m tidemark analyze log.csv        # tidemark analyze log.csv
"""

import sys

from tidemark._program import run_python_or_command

if __name__ == "__main__":
    sys.exit(run_python_or_command(sys.argv[1:]))
