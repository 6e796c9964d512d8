#!/usr/bin/env python3
"""The experiment of the documents, for real: the same training twice, with and without a leak.

    demo.py [correct|leak|both] --tidemark PROGRAM [--full] [--keep DIRECTORY]

Trains the small CNN of examples/cifar.py under `tidemark run`, on the GPU if PyTorch has one, else
on the CPU; where there is no PyTorch, the C example (--example PROGRAM). Prints what tidemark
found, and what TrainWatch's rule would have said. Every figure comes from the JSON of the runs.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MB = 1024 * 1024

# An epoch of the whole experiment is 50,000 images. Three short ones show the same in a minute.
FULL = {"epochs": 3, "images": 50000}
SHORT = {"epochs": 3, "images": 6400}

# TrainWatch warns when the VRAM is more than so many MB above that at the end of the first epoch.
TRAINWATCH = (("0.1", 50), ("0.2", 10))


# ---- running ----


def device():
    """What PyTorch trains on, and which PyTorch; None: there is none."""
    ask = ("import torch; cuda = torch.cuda; "
           "print(cuda.get_device_name(0) if cuda.is_available() else 'CPU', torch.__version__, "
           "sep=', PyTorch ')")
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def python():
    """This python, as short as one may call it."""
    name = os.path.basename(sys.executable)
    return name if shutil.which(name) == sys.executable else sys.executable


def training_command(args, leak):
    if args.example:
        return [args.example] + (["--leak"] if leak else [])
    plan = FULL if args.full else SHORT
    command = [python(), os.path.relpath(HERE / "cifar.py"), "--epochs", str(plan["epochs"]),
               "--images", str(plan["images"])]
    return command + (["--leak"] if leak else [])


def settings(args):
    """What is set for the training alone.

    On the CPU the blocks of a batch come from the C library's heap, where the graphs that are kept
    pin holes of megabytes: 5 GB in 300 steps, more than a laptop may have. Blocks of their own go
    back at once, and the leak is what the graphs take.
    """
    name = "MALLOC_MMAP_THRESHOLD_"
    return {} if args.example else {name: os.environ.get(name, "65536")}


def training_environment(args):
    env = dict(os.environ)
    package = HERE.parent / "python"  # as the archive of `make dist` lies
    if (package / "tidemark" / "_core.abi3.so").exists():
        env["PYTHONPATH"] = os.pathsep.join([str(package)] + env.get("PYTHONPATH", "").split())
    env.update(settings(args))
    return env


def train(args, name, leak):
    """Runs one scenario under tidemark; its answer."""
    answer = pathlib.Path(args.keep, name + ".json")
    run_file = pathlib.Path(args.keep, name + ".tide")
    for old in (answer, run_file):
        old.unlink(missing_ok=True)
    command = training_command(args, leak)
    typed = ["%s=%s" % one for one in settings(args).items()] + ["tidemark", "run", "--"] + command
    print("\n%s\nThe %s training:\n$ %s\n" % ("=" * 80, name, " ".join(typed)), flush=True)
    done = subprocess.run(
        [args.tidemark, "run", "--json", answer, "--output", run_file, "--", *command],
        env=training_environment(args))
    # The example in C says 3 itself where it leaks.
    if done.returncode not in (0, 3) or not answer.exists():
        sys.exit("demo: the training did not end well (status %d)" % done.returncode)
    return json.loads(answer.read_text())


# ---- what was found ----


def size(value):
    """Bytes for people, with the sign of a difference kept."""
    if value is None:
        return "-"
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1000 or unit == "GB":
            return "%.3g %s" % (value, unit)
        value /= 1024


def series_of(answer, kind):
    """The trainer's series of that kind; None: there is none."""
    for series in answer["series"]:
        role = series.get("process", {}).get("role")
        if series["kind"] == kind and role in ("trainer", "rank"):
            return series
    return None


def growth(series):
    """Bytes a step: what it grows by, 0 where it does not leak."""
    if series is None:
        return None
    return series["rate_per_step"] if series["verdict"] == "leak" else 0


def growth_text(series):
    if series is None:
        return "-"
    if series["verdict"] == "leak":
        return size(series["rate_per_step"])
    upper = series.get("rate_upper")
    if upper is None:
        return "?"
    return "less than 1 B" if upper < 1 else "at most %s" % size(upper)


def verdict_text(answer):
    words = answer["verdict"].replace("_", " ")
    severity = answer.get("severity")
    return "%s (%s)" % (words.upper(), severity) if severity else words.upper()


def step_text(answer, key):
    steps = [s[key] for s in answer["series"] if s.get(key) is not None and s["verdict"] == "leak"]
    return "step %d" % min(steps) if steps else "-"


def holder(answer):
    """What holds the memory that leaks; empty where nothing leaks, or nobody knows."""
    findings = answer.get("findings", []) if answer["verdict"] == "leak" else []
    return findings[0] if findings else {}


def line_to_fix(answer):
    found = holder(answer)
    return "%s:%d" % (os.path.basename(found["file"]), found["line"]) if "file" in found else "-"


def seconds_a_step(answer):
    series = series_of(answer, "host.anon")
    steps = series["last_step"] - series["first_step"]
    return (series["last_seconds"] - series["first_seconds"]) / steps if steps else math.nan


def rows(answers):
    """(label, a text for each answer, the difference)."""
    def difference(kind):
        each = [growth(series_of(a, kind)) for a in answers]
        return size(each[1] - each[0]) if len(each) == 2 and None not in each else ""

    yield "verdict", [verdict_text(a) for a in answers], ""
    if any(holder(a) for a in answers):
        yield "held by", [holder(a).get("name", "-") for a in answers], ""
        yield "line to fix", [line_to_fix(a) for a in answers], ""
    yield "suspect from", [step_text(a, "suspect_step") for a in answers], ""
    yield "called a leak at", [step_text(a, "alarm_step") for a in answers], ""
    kinds = {"torch.allocated": "GPU memory a step", "host.anon": "host memory a step"}
    for kind, label in kinds.items():
        if any(series_of(a, kind) for a in answers):
            texts = [growth_text(series_of(a, kind)) for a in answers]
            yield label, texts, difference(kind)
    times = [1e3 * seconds_a_step(a) for a in answers]
    change = "%+.1f %%" % (100 * (times[1] / times[0] - 1)) if len(times) == 2 else ""
    yield "time a step", ["%.2f ms" % t for t in times], change
    yield "steps", ["%d" % a["job"]["steps"] for a in answers], ""


def table(names, answers):
    head = names + (["difference"] if len(names) == 2 else [])
    yield "%-20s" % "" + "".join("%18s" % h for h in head)
    for label, texts, difference in rows(answers):
        yield ("%-20s" % label + "".join("%18s" % t for t in texts + [difference])).rstrip()


def trainwatch_says(answer):
    """Lines: what its rule comes to at the measured rate."""
    series = series_of(answer, "torch.allocated")
    if series is None:
        return ["nothing: it looks at VRAM, and there is none here."]
    epochs = answer["job"].get("epochs", 0)
    an_epoch = growth(series) * answer["job"]["steps"] / epochs if epochs else 0
    said = []
    for version, threshold in TRAINWATCH:
        if an_epoch <= 0:
            said.append("version %s: nothing." % version)
            continue
        first = 1 + math.ceil(threshold * MB / an_epoch)
        said.append("version %s: VRAM delta %+.1f MB after epoch %d, it warns above %d MB: %s" % (
            version, an_epoch * (epochs - 1) / MB, epochs, threshold,
            "a warning." if first <= epochs else "nothing, until epoch %d." % first))
    return said


def summary(names, answers):
    lines = list(table(names, answers))
    for name, answer in zip(names, answers):
        lines += ["", "TrainWatch's rule on the %s one:" % name]
        lines += ["  " + line for line in trainwatch_says(answer)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("scenario", nargs="?", default="both", choices=("correct", "leak", "both"))
    parser.add_argument("--tidemark", required=True, help="the program")
    parser.add_argument("--example", help="train with this program instead of PyTorch")
    parser.add_argument("--full", action="store_true", help="three epochs of 782 steps")
    parser.add_argument("--keep", help="a directory for the run files and answers")
    args = parser.parse_args()
    trains_on = "the CPU, by the example in C" if args.example else device()
    if not trains_on:
        sys.exit("demo: %s has no PyTorch; give --example, or another python" % sys.executable)
    print("Trains on: %s" % trains_on)
    scratch = None if args.keep else tempfile.mkdtemp(prefix="tidemark-demo-")
    args.keep = args.keep or scratch
    wanted = [("correct", False), ("incorrect", True)]
    if args.scenario != "both":
        wanted = [w for w in wanted if w[1] == (args.scenario == "leak")]
    try:
        answers = [train(args, name, leak) for name, leak in wanted]
        found = summary([name for name, _ in wanted], answers)
        pathlib.Path(args.keep, "summary.txt").write_text(found)
        pathlib.Path(args.keep, "device.txt").write_text(trains_on + "\n")
    finally:
        if scratch:
            shutil.rmtree(scratch)
    print("\n%s\n\n%s" % ("=" * 80, found), end="")


if __name__ == "__main__":
    main()
