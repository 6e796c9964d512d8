"""`tradeoff`: a job with several settings, with real torch and with the stand-in."""

import functools
import os
import shutil
import signal
import subprocess
import sys

from bench import HERE, Skipped, check, equal, load_json, wait_until

EXAMPLES = HERE.parent.parent / "examples" / "cleanup"
MB = 2**20
LONG = 120  # seconds, on a busy machine

# A job of the stand-in: it takes less where it is told to, so that what is measured is known.
JOB = """
import os, sys, time, torch
told = os.environ.get("TIDEMARK_CLEANUP", "")
print(told, flush=True)
if len(sys.argv) > 2 and sys.argv[2] in told:
    sys.exit("no such setting")
takes = 120 - 40 * ("set_to_none=1" in told) - 30 * ("workers=2" in told)
held = bytearray(os.urandom(2**20) * takes)
optimizer = torch.optim.SGD()
for _ in range(int(sys.argv[1])):
    optimizer.step()
    time.sleep(0.004)
"""


def _job(*arguments):
    return [sys.executable, "-c", JOB, *map(str, arguments)]


def _command(b, job, *options):
    return [str(b.tidemark), "tradeoff", *map(str, options), "--", *job]


def _environment(b, **more):
    """The stand-in is found, and what is left behind is seen."""
    (b.folder / "t").mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": str(HERE.parent / "standin"), "OMP_NUM_THREADS": "1",
            "TMPDIR": str(b.folder / "t"), **more}


def _run(b, job, *options, **more):
    """To its end; (status, output, what was said)."""
    environment = more.pop("env", None) or _environment(b)
    process = b.start(_command(b, job, *options), env=environment, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE)
    output, said = process.communicate(timeout=LONG)
    return process.returncode, output.decode(), said.decode()


def _answer(b, job, *options):
    """The JSON of a trade-off that was measured."""
    status, output, said = _run(b, job, "--json", *options)
    equal(status, 0, "status", output, said)
    equal(os.listdir(b.folder / "t"), [], "left behind")
    return load_json(output), said


def _measure(answer, setting, measure):
    (found,) = [s for s in answer["settings"] if s["name"] == setting]
    return found["measures"][measure]


@functools.lru_cache
def _python_with_torch():
    """An interpreter that has the real one."""
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin")):
        if python and subprocess.run([python, "-c", "import torch"], stdin=subprocess.DEVNULL,
                                     capture_output=True, check=False).returncode == 0:
            return python
    raise Skipped("no interpreter here has torch")


def _example(b, name, *options):
    """The answer about an example job, with real torch."""
    environment = _environment(b)
    del environment["PYTHONPATH"]
    job = [_python_with_torch(), str(EXAMPLES / name), "--steps", "120"]
    status, output, said = _run(b, job, "--json", *options, env=environment)
    equal(status, 0, "status", output, said)
    return load_json(output)


def cleanup_frees_what_cycles_hold(b):
    """Real torch: the difference is found, is real, and is the first thing that is said."""
    answer = _example(b, "cycles.py", "--every", "10")
    floor, peak = (_measure(answer, "every 10", m) for m in ("host_floor", "host_peak"))
    for measure in (floor, peak):
        check(measure["real"], "not called real", measure)
        check(measure["difference"] < -20 * MB, "freed", measure)
    check(answer["summary"].startswith("Cleanup every 10 steps takes "), answer["summary"])
    check(_measure(answer, "every 10", "cleanup_share")["mean"] > 0, "took no time")


def cleanup_of_nothing_frees_nothing(b):
    """Real torch: what comes and goes by itself is not called freed."""
    answer = _example(b, "nothing.py", "--every", "10")
    for name in ("host_floor", "host_peak"):
        measure = _measure(answer, "every 10", name)
        check(measure["difference"] > -8 * MB, "freed", name, measure)
    check(_measure(answer, "every 10", "cleanup_share")["mean"] > 0, "no cleanup was made")


def the_best_of_each_are_tried_together(b):
    """Each value alone, in turns, then the best of each list in one setting."""
    lists = ("--every", "none", "--set-to-none", "no,yes", "--workers", "1,2")
    answer, said = _answer(b, _job(60), *lists)
    names = [s["name"] for s in answer["settings"]]
    both = "set_to_none yes, 2 workers"
    alone = ["set_to_none no", "set_to_none yes", "1 worker", "2 workers"]
    equal(names, ["as it is", *alone, both], "settings", said)
    # What brings the settings into the job takes something as well.
    for name, freed in (("set_to_none yes", 40), ("2 workers", 30), (both, 70)):
        floor = _measure(answer, name, "host_floor")
        check(floor["real"] and abs(floor["difference"] + freed * MB) < 4 * MB, name, floor)
    check(abs(_measure(answer, "1 worker", "host_floor")["difference"]) < 4 * MB, "1 worker", answer)
    equal(len(_measure(answer, "as it is", "host_floor")["values"]), 6, "runs of the job as it is")
    equal(answer["runs"], 21, "runs")


def settings_come_in_turns(b):
    """Each setting is first in a round of its own; the variable is what the probe reads, and none
    for the job as it is."""
    keep = b.folder / "kept"
    environment = _environment(b, TIDEMARK_CLEANUP="every=7")
    options = ("--every", "5,none", "--set-to-none", "yes", "--repeat", "2", "--keep", keep)
    status, output, said = _run(b, _job(40), *options, env=environment)
    equal(status, 4, "status of too few repeats", output, said)
    check("Not enough repeats" in output and "not enough repeats" in output, output)
    check("TIDEMARK_CLEANUP is set" in said, said)
    order = [line.split(": ")[3] for line in said.splitlines() if " of 6: " in line]
    check("rehearsal, not counted: as it is: 40 steps" in said, said)
    equal(order, ["as it is", "every 5", "set_to_none yes", "every 5", "set_to_none yes",
                  "as it is"], "order", said)
    variables = {
        "as-it-is": "",
        "every-5": "every=5,gc=1,empty_cache=1,trim=1,zero_grad=safe",
        "set_to_none-yes": "set_to_none=1",
    }
    for name, told in variables.items():
        log = (keep / ("round-2-%s.log" % name)).read_text()
        equal(log.split("\n")[0], told, "variable of " + name, log)
        shown = b.run([str(b.tidemark), "show", "--full", str(keep / ("round-2-%s.tide" % name))])
        check(b"40 steps" in shown.stdout, "run file of " + name, shown.stdout)


def time_left_is_told_after_the_first_round(b):
    """Not before every setting has been seen."""
    _, said = _answer(b, _job(30), "--every", "5")
    lines = [line for line in said.splitlines() if " of 6: " in line]
    equal([" left" in line for line in lines], [False, True, True, True, True, False], said)


def runs_end_after_steps(b):
    """--steps ends a job that would go on, and what comes after is not looked at."""
    answer, _ = _answer(b, _job(100000), "--steps", "50", "--every", "10")
    equal((answer["steps_low"], answer["steps_high"]), (50, 50), "steps")


def a_job_that_fails_with_a_setting(b):
    """What was measured is printed, the trial and its last words are named, and that is the end."""
    status, output, said = _run(b, _job(30, "every=5"), "--every", "10,5")
    equal(status, 1, "status", said)
    check("round 1, every 5: the command failed with exit status 1" in said, said)
    check("  | no such setting\n" in said, said)
    check("every 10" in output and "not measured" in output, output)
    equal(said.count(" steps, "), 3, "runs that were measured, with the rehearsal", said)
    equal(os.listdir(b.folder / "t"), [], "left behind")


def a_job_that_makes_no_cleanup(b):
    """No steps of an optimizer at which it could: said, instead of a comparison with nothing."""
    told = b.workload("told_steps", "--steps", 60, "--step-ms", 4)
    status, output, said = _run(b, told, "--every", "10")
    equal(status, 1, "status", said)
    check("every 10  " in output and "not measured" in output, output)
    check("round 1, every 10: no cleanup was made in 60 steps" in said, said)


def too_few_steps(b):
    """Nothing can be measured in so few."""
    status, _, said = _run(b, _job(5), "--every", "2")
    equal(status, 1, "status", said)
    check("the command made 5 steps; at least 10 are needed" in said, said)


def _check_interrupted(b, text):
    check("Interrupted: this is what was measured until then." in " ".join(text.split()), text)
    check("as it is" in text and "Not enough repeats" in text, text)
    equal(os.listdir(b.folder / "t"), [], "left behind")


def ctrl_c_ends_the_job(b):
    """And prints what there is so far."""
    command = _command(b, _job(60), "--every", "5", "--repeat", "50")
    terminal = b.terminal(command, env=_environment(b))
    terminal.read(r"2 of 100: ")
    terminal.keys("\x03")
    terminal.read()
    equal(terminal.status(), 4, "status", terminal.text)
    _check_interrupted(b, terminal.text.replace("•", " "))


def ctrl_c_in_the_rehearsal_is_told(b):
    """Nothing is measured then, and nothing is left behind."""
    terminal = b.terminal(_command(b, _job(100000), "--every", "5"), env=_environment(b))
    terminal.read(r"and a rehearsal")
    wait_until(lambda: list((b.folder / "t").glob("*/rehearsal.tide")), "the rehearsal", LONG)
    terminal.keys("\x03")
    terminal.read()
    equal(terminal.status(), 4, "status", terminal.text)
    check("interrupted in rehearsal, before anything was measured" in terminal.text, terminal.text)
    equal(os.listdir(b.folder / "t"), [], "left behind")


def a_signal_for_us_is_for_the_job(b):
    """kill PID: the job ends, and so do we."""
    log = b.folder / "said"
    with open(log, "w") as file:
        process = b.start(_command(b, _job(60), "--every", "5", "--repeat", "50"),
                          env=_environment(b), stdout=file, stderr=file)
    wait_until(lambda: "2 of 100: " in log.read_text(), "two runs", LONG)
    process.send_signal(signal.SIGTERM)
    equal(process.wait(LONG), 4, "status", log.read_text())
    _check_interrupted(b, log.read_text())
