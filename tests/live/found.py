"""What grows in a process and who holds it, as the process tells it; what becomes of that."""

import sys

from bench import check, equal, load_json

SOURCE = """\
kept = []


def other():
    kept.append(1)  # another variable


def train(items):
    kept = []
    # kept.append("a comment")
    for item in items:
        kept.append(item)
"""


def _told(b, *options, arguments=(), steps=700):
    """The answer about a job that tells what it holds, and what was said."""
    (b.folder / "told_census.py").write_text(SOURCE)
    answer = b.folder / "answer.json"
    command = b.workload("told_census", "--steps", steps, "--step-ms", 4, *arguments)
    done = b.run(b.under(command, "--json", answer, *options))
    equal(done.returncode, 0, "status", done.stderr.decode())
    return load_json(answer.read_text()), done.stderr.decode()


def _without_share(finding):
    """`analyze` has samples in blocks: the growth that it sees begins a moment earlier or later."""
    return {key: value for key, value in finding.items() if key not in ("share", "evidence")}


def the_holder_is_named(b):
    """With the line that adds to it; what jumped once is not; it is kept in the run file."""
    run_file = b.folder / "run.tide"
    answer, said = _told(b, "-o", run_file, "--full")
    equal(answer["verdict"], "leak", "verdict", said)
    equal(len(answer["findings"]), 1, "findings", answer["findings"])
    (finding,) = answer["findings"]
    equal((finding["holder"], finding["where"]), ("list 'kept'", "train (told_census.py:12)"), "what")
    equal((finding["file"], finding["line"]), ("told_census.py", 12), "where")
    equal(finding["cause"], "growing-container", "cause")
    check(0.9 < finding["count_per_step"] < 1.1, "count", finding)
    check(60000 < finding["bytes_per_step"] < 71000, "bytes", finding)
    check(finding["share"] > 0.8, "share", finding)
    words = " ".join(said.split())
    check("list `kept`, local of `train` (told_census.py:12): +1.0" in words, "report", said)
    check("tensors 330 (cpu 330)" in words, "counts", said)
    check("the program was paused for" in words, "cost", said)

    shown = b.run([str(b.tidemark), "show", "--full", str(run_file)]).stdout.decode()
    check("list `kept`, local of `train` (told_census.py:12): +1.0" in " ".join(shown.split()),
          "show", shown)
    again = b.run([str(b.tidemark), "show", "--json", str(run_file)]).stdout.decode()
    equal(load_json(again)["findings"], answer["findings"], "show --json")
    judged = b.run([str(b.tidemark), "analyze", "--json", str(run_file)]).stdout.decode()
    equal(*([_without_share(f) for f in findings]
            for findings in (load_json(judged)["findings"], answer["findings"])), "analyze --json")


def a_global_of_another_file(b):
    """By its own name: in the file of its module that is not written."""
    (b.folder / "caches.py").write_text("RECENT = []\n\n\ndef keep(block):\n"
                                        "    RECENT.append(block)\n")
    (b.folder / "train.py").write_text("import time\nimport caches\n"
                                       "for i in range(700):\n"
                                       "    caches.keep(bytearray(65536))\n"
                                       "    print('step', i, flush=True)\n    time.sleep(0.004)\n")
    answer = b.folder / "answer.json"
    b.run(b.under([sys.executable, "train.py"], "--json", answer))
    finding = load_json(answer.read_text())["findings"][0]
    equal((finding["holder"], finding["line"]), ("list 'caches.RECENT'", 5), "what", finding)


def a_job_that_does_not_leak_is_accused_of_nothing(b):
    """Its objects are counted all the same."""
    answer, said = _told(b, arguments=["--fix"], steps=900)
    equal(answer["verdict"], "no_leak", "verdict", said)
    equal(answer["findings"], [], "findings")
    equal(answer["censuses"][0]["tensors"], [{"device": "cpu", "count": 330, "bytes": 8388608}],
          "tensors")


def nothing_is_inspected_where_that_is_not_wanted(b):
    """--no-inspect: no census is taken; --no-trace: no line either."""
    answer, said = _told(b, "--no-inspect", "--no-trace")
    equal(answer["verdict"], "leak", "verdict", said)
    check("censuses" not in answer and "was paused for" not in said, "censuses", said)
    equal(answer["findings"], [], "findings")


HOARDER = """\
import os, sys, time

class Recorder:
    def __init__(self):
        self.rows = []

    def record(self, step):
        self.rows.append(bytearray(40000))
        if FORKS and step % 50 == 0:
            child = os.fork()  # a data worker, as it were
            if child == 0:
                print("worker", flush=True)
                os._exit(0)
            os.waitpid(child, 0)

def main(steps):
    recorder = Recorder()
    if "--warning" in sys.argv:
        print("UserWarning: this is said once", flush=True)
    for step in range(1, steps + 1):
        recorder.record(step)
        time.sleep(0.003)
        print("step", step, flush=True)

FORKS = "--forks" in sys.argv
main(900)
"""


def _hoard(b, *arguments):
    program, answer = b.folder / "hoarder.py", b.folder / "answer.json"
    program.write_text(HOARDER)
    done = b.run(b.under([sys.executable, str(program), *arguments], "--json", answer))
    equal(done.returncode, 0, "status", done.stderr.decode())
    (finding, *_) = load_json(answer.read_text())["findings"] or [{}]
    return finding, done.stderr.decode()


def a_warning_before_the_first_step(b):
    """The lines that count are those that come again."""
    finding, said = _hoard(b, "--warning")
    equal(finding.get("holder"), "list 'recorder.rows'", "holder", said)


def a_program_of_pythons_names_its_holder(b):
    """Without torch, without an optimizer: by the lines it prints."""
    finding, said = _hoard(b)
    equal(finding.get("holder"), "list 'recorder.rows'", "holder", said)
    equal((finding["line"], finding["cause"]), (8, "growing-container"), "where", finding)
    check(0.95 < finding["count_per_step"] < 1.05, "count", finding)
    check(39000 < finding["bytes_per_step"] < 42000, "bytes", finding)


def forks_of_the_program_leave_the_census_alone(b):
    """What they inherit of it is their parent's."""
    finding, said = _hoard(b, "--forks")
    equal(finding.get("holder"), "list 'recorder.rows'", "holder", said)


CYCLES = """\
import gc, time

class Node:
    pass

gc.disable()
for step in range(1, 1201):
    node = Node()
    node.self, node.pad = node, bytearray(40000)
    time.sleep(0.002)
    print("step", step, flush=True)
"""


def what_a_collection_gives_back_is_told(b):
    """--probe gc: cycles are told from what can be reached."""
    (b.folder / "cycles.py").write_text(CYCLES)
    command = [sys.executable, str(b.folder / "cycles.py")]
    said = b.run(b.under(command, "--probe", "gc", "--full")).stderr.decode()
    words = " ".join(said.split())
    check("gc.collect() (--probe gc), tried 1 time, found" in words, "tried", said)
    check("unreachable objects and gave back" in words, "given back", said)
    check("reference cycles were waiting for the collector" in words, "meaning", said)
