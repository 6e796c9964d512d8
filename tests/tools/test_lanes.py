#!/usr/bin/env python3
"""tests/tools/test_lanes.py: what runs the tests must be able to say no: tools/lanes.py and
tests/runner.py.

`N passed, N failed` last.
"""

import contextlib
import inspect
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests")]
import lanes
import runner
from runner import Case, expect


def says(name, text, status=0):
    return lanes.Step(name, ["sh", "-c", 'printf "%s\\n" "$1"; exit "$2"', "sh", text, status])


def ran(*stages):
    """(exit status, what was printed) of a run."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        run = lanes.Run(folder)
        for stage in stages:
            run.stage(*stage)
        status = run.sum_up()
    return status, out.getvalue()


def expect_run(stages, status, *lines):
    got, text = ran(*stages)
    expect(got == status, "status %d" % got, text)
    for line in lines:
        expect(line in text, "no %r" % line, text)
    return text


def flaky(*names):
    return says("step of " + names[0], "".join("flaky: %s\n" % n for n in names) +
                "%d passed, 0 failed" % len(names))


# ---- tools/lanes.py ----


def counts_of_steps_are_summed():
    text = expect_run([([says("a", "3 passed, 0 failed")], [says("b", "no counts")])], 0)
    expect(text.endswith("\n4 passed, 0 failed\n"), "sum", text)


def a_failing_step_fails_the_run():
    text = expect_run([([says("a", "ok  x\nwhat is wrong\n1 passed, 2 failed", 1),
                         says("b", "1 passed, 0 failed")],)], 1, "FAIL  a", "| what is wrong", "ok    b")
    expect(text.endswith("\n2 passed, 2 failed\n") and "| ok  x" not in text, "sum", text)


def an_exit_status_counts_where_no_case_failed():
    expect_run([([says("a", "5 passed, 0 failed", 1)],)], 1, "\n5 passed, 1 failed\n")


def a_command_that_is_not_there_is_a_failure():
    expect_run([([lanes.Step("a", ["/nonexistent"])],)], 1, "FAIL  a", "No such file")


def nothing_passed_is_a_failure():
    expect_run([([says("a", "0 passed, 0 failed")],)], 1)


def a_flaky_test_is_reported_twice_and_passes():
    text = expect_run([([flaky("x: y, z")],)], 0, "flaky step of x", "s CPU  flaky: x: y, z\n")
    expect(text.endswith("\nflaky: x: y, z\n1 passed, 0 failed\n"), "at the end", text)


def two_flaky_tests_pass_and_three_fail():
    expect_run([([flaky("a", "b")],)], 0)
    expect_run([([flaky("a"), flaky("b")], [flaky("c")])], 1, "FAIL  3 flaky tests",
               "\n3 passed, 1 failed\n")


def lanes_run_beside_each_other():
    """Each waits for what the other does."""
    with tempfile.TemporaryDirectory() as folder:
        meet = 'touch "$1/$2"; for i in $(seq 3000); do [ -e "$1/$3" ] && exit 0; sleep .01; done; exit 1'
        steps = [lanes.Step(a, ["sh", "-c", meet, "sh", folder, a, b], yields=how)
                 for a, b, how in (("x", "y", "all"), ("y", "x", "some"))]
        expect_run([([steps[0]], [steps[1]])], 0, "ok    x", "ok    y")


def a_run_that_is_ended_ends_its_steps():
    with tempfile.TemporaryDirectory() as folder:
        pid = pathlib.Path(folder, "pid")
        program = ("import signal, sys; sys.path.append('tools'); import lanes\n"
                   "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
                   "run = lanes.Run(sys.argv[1])\n"
                   "try:\n    run.stage([lanes.Step('a', ['sh', '-c', 'echo $$ > \"$0\"; sleep 1000', sys.argv[2]])])\n"
                   "finally:\n    run.kill()\n")
        process = subprocess.Popen([sys.executable, "-c", program, folder, str(pid)], cwd=ROOT)
        while not (pid.exists() and pid.read_text().endswith("\n")):
            expect(process.poll() is None, "it ended")
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.wait()
        expect(not os.path.exists("/proc/%s/cmdline" % pid.read_text().strip()) or
               gone(int(pid.read_text())), "its step goes on")


def gone(pid):
    """Once its parent, or init, has taken note."""
    for _ in range(3000):
        try:
            if pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


# ---- tests/runner.py ----


def told(cases, jobs=2):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = runner.run_all(cases, jobs)
    return status, out.getvalue()


def failing(times):
    """A function that fails so often, and counts how often it is called."""
    def function():
        function.calls += 1
        expect(function.calls > times, "call %d" % function.calls)
    function.calls = 0
    return function


def a_case_that_fails_once_is_flaky():
    status, text = told([Case("good", failing(0)), Case("shaky", failing(1))])
    expect(status == 0 and text.endswith("\nflaky: shaky\n2 passed, 0 failed\n"), "flaky", text)


def a_case_that_fails_twice_is_not_run_a_third_time():
    bad = failing(9)
    status, text = told([Case("bad", bad)])
    expect(status == 1 and bad.calls == 2 and text.endswith("\n0 passed, 1 failed\n"), "failed", text)


def a_second_try_is_alone():
    """All others have ended when it begins."""
    ended, again = [], failing(1)

    def shaky():
        expect(not again.calls or len(ended) == 20, "beside others", ended)
        again()

    slow = [Case("slow %d" % i, lambda: (time.sleep(0.01), ended.append(1))[1]) for i in range(20)]
    status, text = told([Case("shaky", shaky), *slow])
    expect(status == 0, "status", text)


def cases_of_one_turn_follow_each_other():
    inside = []

    def enters():
        inside.append(1)
        time.sleep(0.01)
        expect(len(inside) == 1, "two at a time")
        inside.pop()

    status, text = told([Case(str(i), enters, turn="x") for i in range(10)], jobs=4)
    expect(status == 0 and runner.FLAKY not in text, "turns", text)


def a_python_test_that_fails_once_is_flaky():
    sys.path.append(str(ROOT / "tests" / "python"))
    import run

    shaky, bad = failing(1), failing(9)

    class Tests(unittest.TestCase):
        def test_shaky(self):
            shaky()

        def test_bad(self):
            bad()

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        counts = run.run_suite(unittest.defaultTestLoader.loadTestsFromTestCase(Tests), 0)
    expect(counts == (1, 1, 0) and bad.calls == 2, counts)
    expect(out.getvalue().startswith(runner.FLAKY) and out.getvalue().endswith("Tests.test_shaky\n"), "line",
           out.getvalue())


def a_skipped_case_counts_for_none():
    def skips():
        raise runner.Skipped("no torch")

    status, text = told([Case("a", skips)])
    expect(status == 0 and "no torch" in text and text.endswith("0 passed, 0 failed\n"), "skip", text)
    expect(told([])[0] == 1, "no case at all is no success")


def names_are_found_as_they_are_printed():
    expect(runner.is_wanted("3.9.18 torch    a_case of it", ["a case_of"]), "words")
    expect(not runner.is_wanted("another", ["a case"]) and runner.is_wanted("another", []), "others")


CASES = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__
         and not inspect.signature(f).parameters]


def main():
    failed = 0
    for case in CASES:  # by hand: what is tested here shall not judge itself
        try:
            case()
        except runner.Failed as reason:
            failed += 1
            print("FAIL %s: %s" % (case.__name__, reason))
    print("%d passed, %d failed" % (len(CASES) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
