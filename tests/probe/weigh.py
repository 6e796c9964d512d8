#!/usr/bin/env python3
"""tests/probe/weigh.py BUILD [--every] [NAME...]: the sizes of items as the probe weighs them, against
known truth, in real programs of the interpreters of holders.py.

The cases are in weigh_program.py. One line per case, `N passed, N failed` last.
"""

import pathlib
import sys

import holders


def main():
    asked = holders.runner.arguments(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    return holders.run_all(here / "weigh_program.py",
                           pathlib.Path(asked.target) / "tests" / "libweigh.so", asked)


if __name__ == "__main__":
    sys.exit(main())
