#!/usr/bin/env python3
"""tests/probe/python_trace.py BUILD [--every] [NAME...]: what the allocation tracer reads of running
Python functions, against what Python says, and its functions in Python's allocators; in real programs
of the interpreters of holders.py, each also with Python's debugging allocators.

The cases are in python_trace_program.py. One line per case, `N passed, N failed` last.
"""

import os
import pathlib
import sys

import holders


def main():
    asked = holders.runner.arguments(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    library = pathlib.Path(asked.target) / "tests" / "libpython_trace.so"
    status = 0
    for allocator in ("default", "debug", "malloc"):
        print("PYTHONMALLOC=" + allocator)
        os.environ["PYTHONMALLOC"] = allocator
        status |= holders.run_all(here / "python_trace_program.py", library, asked)
    return status


if __name__ == "__main__":
    sys.exit(main())
