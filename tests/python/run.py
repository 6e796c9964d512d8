#!/usr/bin/env python3
"""tests/python/run.py BUILD [NAME...]: the Python package, with every interpreter that is here.

One extension module serves them all. Those of PYTHONS (a list of paths, by default python3 and
pyenv's) that are not there are left out, and named. `N passed, N failed` last.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
OLDEST = (3, 9)


def interpreters():
    """By path; the same one is not tried twice."""
    found = os.environ.get("PYTHONS", "").split()
    if not found:
        pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
        found = ["/usr/bin/python3", sys.executable,
                 *sorted(str(p) for p in pyenv.glob("versions/3.*/bin/python3"))]
    seen = set()
    for path in found:
        ask = "import sys; print(sys.base_prefix, *sys.version_info[:3])"
        try:
            said = subprocess.run([path, "-c", ask], stdout=subprocess.PIPE, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"skip  {path}: does not run")
            continue
        prefix, *version = said.stdout.split()
        if prefix not in seen and tuple(map(int, version[:2])) >= OLDEST:
            seen.add(prefix)
            yield path, ".".join(version)


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def run_here(names):
    """In this interpreter; the process's last line is read by the one that started it."""
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    if names:
        loader.testNamePatterns = [f"*{name}*" for name in names]
    tests = loader.discover(str(HERE), "test_*.py", str(HERE))
    result = unittest.TextTestRunner(verbosity=0, resultclass=Result).run(tests)
    print(result.passed, len(result.failures) + len(result.errors), len(result.skipped))


def run_with(python, build, names):
    """(passed, failed, skipped, what was said, seconds)."""
    start = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(build / "python"), "PYTHONUTF8": "1"}
    for name in ("RANK", "WORLD_SIZE", "TIDEMARK_RUN"):
        environment.pop(name, None)
    done = subprocess.run([python, str(HERE / "run.py"), "--here", *names], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    lines = done.stdout.splitlines()
    try:
        passed, failed, skipped = (int(x) for x in lines[-1].split())
    except (ValueError, IndexError):
        passed, failed, skipped = 0, 1, 0
    return passed, failed + (done.returncode != 0), skipped, done.stdout, time.monotonic() - start


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--here":
        return run_here(sys.argv[2:])
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "python" / "tidemark" / "_core.abi3.so").exists():
        sys.exit(f"{build} has no extension module: Python.h was not there when it was configured")
    all_passed = all_failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [(version, pool.submit(run_with, python, build, sys.argv[2:]))
                   for python, version in interpreters()]
        for version, future in waiting:
            passed, failed, skipped, said, seconds = future.result()
            print(f"{'FAIL' if failed else 'ok':4}  Python {version:8} {passed:4} passed {failed:3} "
                  f"failed {skipped:3} skipped {seconds:5.0f} s", flush=True)
            if failed:
                print(said)
            all_passed, all_failed = all_passed + passed, all_failed + failed
    print(f"{all_passed} passed, {all_failed} failed")
    return all_failed > 0


if __name__ == "__main__":
    sys.exit(main())
