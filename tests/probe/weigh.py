#!/usr/bin/env python3
"""tests/probe/weigh.py BUILD [NAME...]: what the probe says an item takes, against known truth, in
real programs of every CPython from 3.9 on that is found here.

The cases are in weigh_program.py. One line a case, `N passed, N failed` last.
"""

import pathlib
import sys

import holders


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    return holders.run_all(here / "weigh_program.py",
                           pathlib.Path(sys.argv[1]).resolve() / "tests" / "libweigh.so",
                           sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
