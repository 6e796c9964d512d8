#!/usr/bin/env python3
"""tests/trace/answers.py BUILD [NAME...]: what tidemark answers where allocations are traced.

Real programs with one known line each: leaks.py has those in Python. One line a case,
`N passed, N failed` last.
"""

import functools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import runner
from runner import Skipped, expect

PYTHON = "/usr/bin/python3"
PARALLEL = 3
STEPS = 700
EXPLAINED = 0.9  # of the growth, by the lines that stand for it


class Bench:
    def __init__(self, build):
        self.build = pathlib.Path(build)

    def answer(self, *command, options=("--trace=64KB",)):
        """The JSON of a run."""
        with tempfile.TemporaryDirectory(prefix="answers-") as folder:
            run_file = os.path.join(folder, "run.tide")
            tidemark = str(self.build / "tidemark")
            done = subprocess.run([tidemark, "run", "--quiet", "-o", run_file, *options, "--",
                                   *command], capture_output=True, text=True, timeout=180)
            if done.returncode == 77:
                raise Skipped(done.stderr.strip())
            shown = subprocess.run([tidemark, "show", "--json", run_file], capture_output=True,
                                   text=True)
            expect(shown.stdout, "no answer", done.stderr, shown.stderr)
            return json.loads(shown.stdout)

    def python(self, way, steps=STEPS, **more):
        return self.answer(PYTHON, str(HERE / "leaks.py"), way, str(steps), **more)


def needs_torch():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        raise Skipped("no torch for " + PYTHON)


def growing(answer):
    return [s for s in answer.get("sites", []) if not s["has_stopped"]]


def told(answer):
    return json.dumps([answer["verdict"], answer["findings"], answer.get("sites"),
                       answer.get("tracers")], indent=1)


def share(sites):
    """What they estimate, which may be 10 % off; the upper end of a share is cut at 1."""
    return sum(s["share_low"] * s["bytes"] / s["bytes_low"] for s in sites if s["bytes_low"] > 0)


def error(sites):
    """Two standard errors of that: a busy machine takes fewer samples."""
    return 2 / math.sqrt(max(1, sum(s["samples"] for s in sites)))


def expect_lines(answer, function, least=EXPLAINED):
    """Lines of this function alone grow, and explain the leak."""
    expect(answer["verdict"] == "leak", "the verdict", told(answer))
    sites = growing(answer)
    expect(sites and function in (sites[0]["function"] or ""), "not first", told(answer))
    of_it = [s for s in sites if function in (s["function"] or "")]
    expect(share(of_it) >= least - error(of_it), "%.2f explained" % share(of_it), told(answer))
    return "%.0f %% explained" % min(100, 100 * share(of_it))


def expect_no_leak(answer):
    expect(answer["verdict"] == "no_leak", "the verdict", told(answer))
    expect(not answer["findings"] and not growing(answer), "a line is accused", told(answer))


# ---- leaks ----


def lost_graph(bench):
    needs_torch()
    answer = bench.python("lost_graph")
    first = answer["findings"][0]
    expect(first["cause"] == "autograd-cycle" and first["file"].endswith("leaks.py"),
           "the place of the fix", told(answer))
    return expect_lines(answer, "lost_graph")


def traced_again(bench):
    needs_torch()
    answer = bench.python("traced_again", 400)
    expect("leaks.py" in answer["findings"][0]["allocated"], "holder and line", told(answer))
    return expect_lines(answer, "traced_again", 0.75)


def c_malloc(bench):
    answer = bench.python("c_malloc")
    first = answer["findings"][0]
    expect(first["kind"] == "allocation" and first["name"] == "c_malloc" and first["line"],
           "the place of the fix", told(answer))
    return expect_lines(answer, "c_malloc")


def kept_items(bench, way="kept_items"):
    """Who holds it, and who allocates it, in one finding."""
    answer = bench.python(way)
    first = answer["findings"][0]
    expect("kept" in first["holder"] and "leaks.py" in first["allocated"], "not joined",
           told(answer))
    sites = growing(answer)
    expect(sites and sites[0]["file"].endswith("leaks.py"), "the line", told(answer))
    return "%.0f %% explained" % min(100, 100 * share(sites[:1]))


def one_of_two_hundred(bench):
    """0.1 % of the traffic leaks in one of 200 sites: it is first, within 3 horizons."""
    program = str(bench.build / "tests/workloads/leak_one_site")
    early = growing(bench.answer(program, "--steps", "450", "--step-ms", "8"))
    expect(len(early) == 1 and early[0]["function"] == "site_137", "after 3 horizons", early)
    answer = bench.answer(program, "--steps", "900", "--step-ms", "8")
    expect(len(growing(answer)) == 1, "another is accused", told(answer))
    return expect_lines(answer, "site_137")


def freed_at_the_end(bench):
    """What a program frees as it ends was kept until then."""
    return expect_lines(bench.answer(str(bench.build / "tests/frees_at_exit"), str(STEPS)),
                        "keep_more")


def by_suspicion(bench):
    """Nobody asked for it: the tracer arms itself."""
    answer = bench.python("c_malloc", 3 * STEPS, options=())
    expect(answer["tracers"][0]["from"] > 0.3, "armed too soon", told(answer))
    return expect_lines(answer, "c_malloc", 0.7)


def doubling(bench):
    """It requests nothing for a while, and fills what it has requested: not a warm-up."""
    keeps = str(bench.build / "tests/trace_keeps")
    return expect_lines(bench.answer(keeps, "doubling", "900", options=()), "keep_doubling")


def small(bench):
    """Blocks of 16 bytes take 32."""
    keeps = str(bench.build / "tests/trace_keeps")
    answer = bench.answer(keeps, "small", "900", options=())
    expect(share(growing(answer)) < 1.3, "more than there is", told(answer))
    return expect_lines(answer, "keep_small")


# ---- no leaks ----


def warm_up(bench):
    answer = bench.python("warm_up")
    expect_no_leak(answer)
    sites = answer.get("sites", [])
    expect(sites and sites[0]["function"] == "warm_up" and sites[0]["has_stopped"],
           "what the warm-up was", told(answer))


def bounded(bench):
    expect_no_leak(bench.python("bounded"))


def clean(bench):
    expect_no_leak(bench.python("clean"))


def left_out(bench):
    """--no-trace: nothing of the tracer is in the program."""
    program = ("import os\nlibraries = open('/proc/self/maps').read()\n"
               "print('step 1', 'libtidemark_preload' in libraries, flush=True)\n")
    with tempfile.TemporaryDirectory(prefix="answers-") as folder:
        for option, expected in (("--trace", "True"), ("--no-trace", "False")):
            done = subprocess.run([str(bench.build / "tidemark"), "run", "--quiet", option, "-o",
                                   os.path.join(folder, option), "--", PYTHON, "-c", program],
                                  capture_output=True, text=True)
            expect("step 1 " + expected in done.stdout, option, done.stdout, done.stderr)


def main():
    options = runner.arguments(__doc__)
    bench = Bench(options.target)
    cases = {"a lost autograd graph": lost_graph, "repeated jit traces": traced_again,
             "C's malloc() through ctypes": c_malloc, "items that a list keeps": kept_items,
             "items made on threads": lambda b: kept_items(b, "in_a_thread"),
             "one of two hundred sites": one_of_two_hundred, "freed at the end": freed_at_the_end,
             "armed by suspicion": by_suspicion, "an array that doubles": doubling, "small blocks": small, "a warm-up": warm_up, "a bounded buffer": bounded,
             "a clean program": clean, "left out": left_out}
    return runner.run_all([runner.Case(name, functools.partial(function, bench))
                           for name, function in cases.items()
                           if runner.is_wanted(name, options.names)], PARALLEL)


if __name__ == "__main__":
    sys.exit(main())
