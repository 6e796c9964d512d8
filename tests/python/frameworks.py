#!/usr/bin/env python3
"""tests/python/frameworks.py BUILD [NAME...]: the callbacks with the frameworks themselves.

The releases of frameworks.txt, the last that run on Debian's torch, are installed into
BUILD/frameworks-venv beside it; says so and skips where that cannot be done.

  tests/python/frameworks.py --here [NAME...]   # in this interpreter, with what can be imported

wants the package in PYTHONPATH and installs nothing. Frameworks that are not there are left out,
and named. `N passed, N failed` last.
"""

import importlib
import os
import pathlib
import subprocess
import sys
import unittest

from run import run_suite

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "frameworks.txt"
PYTHON = "/usr/bin/python3"
NEEDS = {"test_transformers": "transformers", "test_lightning": "lightning",
         "test_accelerate": "accelerate"}


# ---- in this interpreter ----


def can_import(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        print(f"skip  {name}: {error}")
        return False
    print(f"      {name} {getattr(module, '__version__', '')}".rstrip())
    return True


def run_here(names):
    sys.path[:0] = [str(HERE), str(HERE / "with_frameworks")]
    # Programs are run in other folders.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    if not can_import("torch"):
        return 0, 0
    loader = unittest.defaultTestLoader
    if names:
        loader.testNamePatterns = [f"*{name}*" for name in names]
    wanted = [test for test, framework in NEEDS.items() if can_import(framework)]
    return run_suite(loader.loadTestsFromNames(wanted), verbosity=2 if names else 1)[:2]


# ---- in an environment of its own ----


def make_environment(folder):
    """Its interpreter; None: it cannot be made here. Kept as long as the list is the same."""
    python, made = folder / "bin" / "python", folder / "made-from.txt"
    if made.exists() and made.read_text() == LIST.read_text():
        return python
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
           "--requirement", LIST]
    for command in ([PYTHON, "-m", "venv", "--clear", "--system-site-packages", folder], pip):
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(done.stdout)
            return None
    made.write_text(LIST.read_text())
    return python


def run_in(python, build, names):
    environment = {**os.environ, "PYTHONPATH": str(build / "python"), "PYTHONUTF8": "1",
                   "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    for name in ("RANK", "WORLD_SIZE", "TIDEMARK_RUN"):
        environment.pop(name, None)
    return subprocess.call([str(python), __file__, "--here", *names], env=environment)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--here":
        passed, failed = run_here(sys.argv[2:])
        print(f"{passed} passed, {failed} failed")
        return failed > 0
    build = pathlib.Path(sys.argv[1]).resolve()
    python = make_environment(build / "frameworks-venv")
    if python is None:
        print("skip  the frameworks cannot be installed here\n0 passed, 0 failed")
        return 0
    return run_in(python, build, sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
