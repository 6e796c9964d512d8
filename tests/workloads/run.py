#!/usr/bin/env python3
"""Runs the programs with known truth under tidemark and compares what it says with the truth.

  python3 tests/workloads/run.py TIDEMARK [NAME...]   # NAME: only the cases whose name contains it
  python3 tests/workloads/run.py --list
  python3 tests/workloads/run.py --self-check         # every expectation can fail

TIDEMARK is the program in its build folder; the programs in C are found beside it, in
tests/workloads. The cases mostly wait, so several run at a time. Prints one line each, all that
tidemark said where a case failed, and `N passed, N failed` last; exit status 1 if one failed.
"""

import contextlib
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import jobs
import passing
import runner
import self_check
from cases import CASES, Result, judge

PARALLEL = 4
LIMIT_SECONDS = 60
RUN_FILE = "run.tide"
JSON_FILE = "answer.json"


def tidemark_command(case, tidemark, folder, target):
    files = ["-o", str(folder / RUN_FILE), "--json", str(folder / JSON_FILE)]
    command = [str(tidemark), case.mode, *files, *case.options]
    if case.mode == "watch":
        return [*command, "--pid", str(target.pid)]
    return [*command, "--", *target]


def run_limited(command, env, folder):
    """(exit status, stdout, stderr): files, since a process left behind would hold a pipe open."""
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=env,
            start_new_session=True,
        )
        try:
            status = process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = "none after %d s" % LIMIT_SECONDS
    texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
    return status, *texts


@contextlib.contextmanager
def watched_program(case, tidemark, env, folder):
    """What tidemark is told: the command under `run`, the running program under `watch`."""
    command = jobs.command(case.program, case.arguments, tidemark.parent)
    if case.mode == "run":
        yield command
        return
    with open(folder / "program", "wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def read_answer(file):
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None


def judged_again(tidemark, folder, answer):
    """The run file says what the run said: `show` the very same, `analyze` the same verdict."""
    problems = []
    commands = {"show": ["show", "--json"], "analyze": ["analyze", "--json", "--quiet"]}
    for name, words in commands.items():
        command = [str(tidemark), *words, str(folder / RUN_FILE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        said = json.loads(done.stdout) if done.returncode == 0 and done.stdout else {}
        same = said == answer if name == "show" else said.get("verdict") == answer["verdict"]
        if not same and (name == "show" or answer["series"]):
            problems.append("%s of the run file: %s%s" % (name, said.get("summary"), done.stderr))
    return problems


def run_case(case, tidemark):
    """(problems, what tidemark said)."""
    env, mark = jobs.environment()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with watched_program(case, tidemark, env, folder) as target:
            command = tidemark_command(case, tidemark, folder, target)
            status, out, err = run_limited(command, env, folder)
        left = jobs.clean_up(mark)
        if status == 77:
            return None, err
        result = Result(status=status, out=out, err=err, answer=read_answer(folder / JSON_FILE))
        problems = judge(case, result) + left
        if result.answer:
            problems += judged_again(tidemark, folder, result.answer)
        return problems, describe(result)


def last_lines(text, count):
    """As a terminal would show them: of what is drawn over with a carriage return, the last."""
    return [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")[-count:]]


def describe(result):
    """What a reader wants to see of a case that failed."""
    lines = ["exit status %s" % result.status, *last_lines(result.err, 60)]
    if result.answer is None:
        return "\n".join([*lines, "no JSON", *last_lines(result.out, 10)])
    lines.append("JSON: %s: %s" % (result.answer.get("verdict"), result.answer.get("summary")))
    for s in result.answer.get("series", []):
        process = s.get("process", {})
        lines.append(
            "  %-8s %-14s %-16s %-12s %s"
            % (
                process.get("pid", ""),
                process.get("role", ""),
                s.get("kind"),
                s.get("verdict"),
                s.get("pattern"),
            )
        )
    return "\n".join(lines)


def find_problems(function):
    """As a case of the runner: it fails with its problems and what was said."""
    problems, said = function()
    if problems is None:
        raise runner.Skipped(said.strip())
    runner.expect(not problems, "\n".join([*problems, said]))


def tasks(tidemark):
    for case in CASES:
        run_it = functools.partial(run_case, case, tidemark)
        yield runner.Case(case.name, functools.partial(find_problems, run_it), case.alone)
    for name, function in passing.CHECKS.items():
        run_it = functools.partial(function, tidemark)
        yield runner.Case(name, functools.partial(find_problems, run_it), name in passing.ALONE)


def main():
    if sys.argv[1:] == ["--self-check"]:
        sys.exit(self_check.main())
    if sys.argv[1:] == ["--list"]:
        print("\n".join(t.name for t in tasks(pathlib.Path("tidemark"))))
        return
    asked = runner.arguments(__doc__, "TIDEMARK")
    wanted = [t for t in tasks(pathlib.Path(asked.target)) if runner.is_wanted(t.name, asked.names)]
    sys.exit(runner.run_all(wanted, PARALLEL))


if __name__ == "__main__":
    main()
