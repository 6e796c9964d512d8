#!/usr/bin/env python3
"""tests/python/run.py BUILD [--every] [NAME...]: the Python package, with the system's interpreter,
the oldest and the newest that are here (--every: with all of them, or those of the list PYTHONS).

One extension module serves them all. `N passed, N failed` last.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner

HERE = pathlib.Path(__file__).resolve().parent


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def run_suite(tests, verbosity):
    """(passed, failed, skipped). What fails is run again, alone, and is flaky if it passes then."""
    result = unittest.TextTestRunner(verbosity=verbosity, resultclass=Result).run(tests)
    once = {test.id(): test for test, _ in result.failures + result.errors}
    failed = 0
    for name, test in once.items():
        again = unittest.TestResult()
        if hasattr(type(test), getattr(test, "_testMethodName", "")):
            unittest.TestSuite([type(test)(test._testMethodName)]).run(again)
        if again.testsRun and again.wasSuccessful():
            print(runner.FLAKY + name)
        else:
            failed += 1
    return result.passed + len(once) - failed, failed, len(result.skipped)


def run_here(names):
    """In this interpreter; the process's last line is read by the one that started it."""
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    if names:
        loader.testNamePatterns = [f"*{name}*" for name in names]
    tests = loader.discover(str(HERE), "test_*.py", str(HERE))
    print(*run_suite(tests, verbosity=0))


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
    if sys.argv[1:2] == ["--here"]:
        return run_here(sys.argv[2:])
    asked = runner.arguments(__doc__)
    build = pathlib.Path(asked.target)
    if not (build / "python" / "tidemark" / "_core.abi3.so").exists():
        sys.exit(f"{build} has no extension module: Python.h was not there when it was configured")
    all_passed = all_failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        waiting = [(runner.text(version), pool.submit(run_with, python, build, asked.names))
                   for version, python in runner.interpreters(asked.every)]
        for version, future in waiting:
            passed, failed, skipped, said, seconds = future.result()
            print(f"{'FAIL' if failed else 'ok':4}  Python {version:8} {passed:4} passed {failed:3} "
                  f"failed {skipped:3} skipped {seconds:5.0f} s", flush=True)
            if failed:
                print(said)
            else:
                print(*(f"{line}, Python {version}\n" for line in said.splitlines()
                        if line.startswith(runner.FLAKY)), sep="", end="")
            all_passed, all_failed = all_passed + passed, all_failed + failed
    print(f"{all_passed} passed, {all_failed} failed")
    return all_failed > 0


if __name__ == "__main__":
    sys.exit(main())
