"""Phases that a Python program tells by tidemark.Watcher: spikes have names, leaks stay leaks."""

import contextlib
import os
import sqlite3

from bench import Skipped, check, equal, load_json

MB = 1 << 20


def _evaluating(b, *arguments, options=()):
    """The answer about a job of evaluates.py, what the job itself answered, and the report."""
    package = b.tidemark.parent / "python"
    if not (package / "tidemark" / "_core.abi3.so").exists():
        raise Skipped("the Python package is not built")
    answer = b.folder / "answer.json"
    command = b.under(b.workload("evaluates.py", *arguments), "--json", answer, "--full", *options)
    done = b.run(command, env={**os.environ, "PYTHONPATH": str(package)})
    said = done.stderr.decode()
    equal(done.returncode, 0, "status", said)
    return load_json(answer.read_text()), load_json(done.stdout.decode()), said


def _anon(answer):
    (found,) = [s for s in answer["series"] if s["kind"] == "host.anon" and "process" in s]
    return found


def _phase(answer, name):
    (found,) = [p for p in answer["phases"] if p["name"] == name]
    return found


def _in(phase, kind):
    (found,) = [s for s in phase["series"] if s["kind"] == kind and "pid" in s]
    return found


def spikes_of_an_evaluation_have_its_name(b):
    """150 MB for 0.3 s every 50 steps, given back: no leak, and every spike is evaluate's."""
    file = b.folder / "run.tide"
    answer, inner, said = _evaluating(b, "--steps", 600, options=("-o", file))
    equal((answer["verdict"], inner["verdict"]), ("no_leak", "no_leak"), "verdicts", said)
    phase = _phase(answer, "evaluate")
    equal((phase["times"], phase["ended"]), (12, 12), "times of evaluate")
    check(12 * 0.3 <= phase["seconds"] < answer["job"]["seconds"], "seconds", phase)
    equal(_phase(answer, "save")["times"], 4, "times of save")
    seen = _in(phase, "host.anon")
    check(abs(seen["above_floor"] - 150 * MB) < 8 * MB, "above the floor", seen)
    equal((seen["looked_at"], seen["given_back"]), (12, 12), "given back", said)
    spikes = _anon(answer)["spikes"]
    equal(spikes["during"], [{"name": "evaluate", "count": spikes["count"]}], "spikes", said)
    check(10 <= spikes["count"] <= 12 and abs(spikes["height"] - 150 * MB) < 15 * MB, "spikes",
          spikes)
    check("  phases    evaluate 12 times, " in said, "report", said)
    check("and all fall back: %d of %d during evaluate" % ((spikes["count"],) * 2)
          in " ".join(said.split()), "reasons", said)
    shown = b.run([str(b.tidemark), "show", "--full", str(file)]).stdout.decode()
    check("  phases    evaluate 12 times, " in shown, "show", shown)
    again = load_json(b.run([str(b.tidemark), "show", "--json", str(file)]).stdout.decode())
    equal(again["phases"], answer["phases"], "phases of the run file")
    with contextlib.closing(sqlite3.connect(file)) as db:
        events = [r[0] for r in db.execute("SELECT text FROM event WHERE what = 'phase'")]
    equal(sorted({e.split()[0] for e in events}), ["evaluate", "save"], "events", events)
    equal(len(events), 16, "events", events)


def a_leak_inside_evaluate_is_a_leak(b):
    """10 MB of each evaluation stay: that is never called no leak."""
    answer, inner, said = _evaluating(b, "--steps", 600, "--keep-mb", 10, "--seconds", 0.1)
    equal((answer["verdict"], inner["verdict"]), ("leak", "leak"), "verdicts", said)
    seen = _in(_phase(answer, "evaluate"), "host.anon")
    equal((seen["looked_at"], seen["given_back"]), (12, 0), "given back", said)
    check(abs(seen["kept"] - 10 * MB) < MB, "kept", seen)
    check("on average 10.0 MB stayed" in " ".join(said.split()), "report", said)


def no_phases_no_word(b):
    """A program that tells none has none in its report."""
    answer = b.folder / "answer.json"
    done = b.run(b.under(b.workload("told_steps", "--steps", 100), "--json", answer))
    check("phases" not in load_json(answer.read_text()), "JSON")
    check("\n  phases " not in done.stderr.decode(), "report", done.stderr.decode())
