#!/usr/bin/env python3
"""Programs that watch themselves, as a user builds and runs them.

  python3 tests/library/run.py BUILD       # BUILD holds tidemark, src/lib and examples/train

Real processes with a known truth: examples/train with and without its leak, killed in the middle,
under `tidemark run`. Then what the shared library shows to the linker. Prints one line a case and
`N passed, N failed` last; exit status 1 if one failed.
"""

import functools
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import runner
from runner import expect as check

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCHS = "30"
LIMIT_SECONDS = 60
PARALLEL = 3


class Program:
    def __init__(self, build, folder):
        self.tidemark = str(build / "tidemark")
        self.train = str(build / "examples" / "train")
        self.library = build / "src" / "lib" / "libtidemark.so"
        self.folder = folder

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)

    def show(self, *options):
        return self.run(self.tidemark, "show", *options, "run.tide")


def losses(text):
    return [float(x) for x in re.findall(r"^step .* loss ([\d.]+)", text, re.M)]


def truth(text):
    return int(re.search(r"^truth: (\d+) bytes", text, re.M)[1])


def deciding(answer):
    return next(s for s in answer["series"] if s["kind"] == "host.anon")


# ---- the example ----


def correct_training_has_no_leak(p):
    r = p.run(p.train, "--epochs", EPOCHS)
    check(r.returncode == 0, f"exit status {r.returncode}", r.stdout + r.stderr)
    check(re.search(r"^NO LEAK: ", r.stdout, re.M), "no such verdict", r.stdout)
    check(losses(r.stdout)[-1] < 0.5 * losses(r.stdout)[0], "the loss does not fall", r.stdout)
    check(r.stderr == "", "something on standard error", r.stderr)


def leaking_training_leaks_at_its_true_rate(p):
    r = p.run(p.train, "--epochs", EPOCHS, "--leak", "--run-file", "run.tide")
    check(r.returncode == 3, f"exit status {r.returncode}", r.stdout + r.stderr)
    check(losses(r.stdout)[-1] < 0.5 * losses(r.stdout)[0], "the loss does not fall", r.stdout)
    answer = json.loads(p.show("--json").stdout)
    rate = deciding(answer)["rate"]
    check(abs(rate - truth(r.stdout)) < 0.1 * truth(r.stdout), f"{rate:.0f} bytes a step", r.stdout)
    check(answer["verdict"] == "leak", answer["summary"])
    check(answer["summary"] in r.stdout, "the file says another thing", answer["summary"])


def run_file_is_shown_and_judged_like_any_other(p):
    r = p.run(p.train, "--epochs", EPOCHS, "--leak", "--run-file", "run.tide")
    shown = p.show("--full")
    check(shown.returncode == 0, shown.stderr)
    check("LEAK" in shown.stdout and "examples/train" in shown.stdout, "not the report", shown.stdout)
    again = p.run(p.tidemark, "analyze", "--quiet", "run.tide")
    check("LEAK" in again.stdout + again.stderr, "analyze says no leak", again.stdout)
    events = p.run(p.tidemark, "export", "--csv", "run.tide")
    check(events.returncode == 0 and "loss" in events.stdout, "the loss is not recorded",
          events.stdout[:500])
    check(not list(p.folder.glob("run.tide-*")), "files are left beside it", r.stdout)


def existing_run_file_is_left_alone(p):
    (p.folder / "run.tide").write_text("mine")
    r = p.run(p.train, "--steps", "20", "--run-file", "run.tide")
    check("not watched: File exists" in r.stderr, "not said", r.stderr)
    check((p.folder / "run.tide").read_text() == "mine", "it was overwritten")
    check("step 20/20" in r.stdout, "the training did not go on", r.stdout)


def is_leak(p):
    """By what its run file has so far."""
    shown = p.run(p.tidemark, "analyze", "--json", "--quiet", "run.tide")
    return shown.returncode == 0 and json.loads(shown.stdout)["verdict"] == "leak"


def killed_training_leaves_its_last_seconds(p):
    process = subprocess.Popen([p.train, "--steps", "1000000", "--leak", "--run-file", "run.tide"],
                               cwd=p.folder, stdout=subprocess.DEVNULL)
    try:
        # Recorded while it trains: how many seconds a leak takes depends on the machine.
        end = time.monotonic() + LIMIT_SECONDS
        while not is_leak(p) and time.monotonic() < end:
            time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    shown = p.run(p.tidemark, "analyze", "--json", "--quiet", "run.tide")
    check(shown.returncode == 0, "cannot be read", shown.stderr)
    check(is_leak(p), "no leak was recorded", shown.stdout[:2000])


def build_manual(p, name, without=None):
    """The program of the manual; `without` the line that begins so."""
    manual = (ROOT / "docs" / "LIBRARY.md").read_text()
    text = re.search(r"^```c\n(.*?)^```", manual, re.M | re.S)[1]
    if without:
        text, found = re.subn(rf"^ *{re.escape(without)}.*\n", "", text, flags=re.M)
        check(found == 1, f"no line {without}", text)
    (p.folder / f"{name}.c").write_text(text)
    build_program(p, name)


def build_program(p, name):
    folder = str(p.library.parent)
    built = p.run("cc", "-Wall", "-Wextra", "-pedantic", "-Werror", f"{name}.c", "-o", name,
                  "-I", str(ROOT / "include"), "-L", folder, f"-Wl,-rpath,{folder}", "-ltidemark")
    check(built.returncode == 0, "does not compile", built.stderr)


def manual_compiles_and_runs(p):
    build_manual(p, "manual")
    for _ in range(2):
        r = p.run("./manual")
        check(r.returncode == 0 and r.stdout.startswith("NO LEAK: "), f"exit status {r.returncode}",
              r.stdout + r.stderr)
    check(p.run("./manual", "a.tide").stdout.startswith("NO LEAK: "), "not watched")
    check(p.run(p.tidemark, "show", "a.tide").returncode == 0, "its run file cannot be shown")
    r = p.run("./manual", "a.tide")
    check(r.returncode == 0 and r.stderr == "not watched: File exists\n", "not said", r.stderr)


def manual_leaks_as_it_says(p):
    build_manual(p, "leaking", without="free(x);")
    r = p.run("./leaking")
    check(r.returncode == 3 and r.stdout.startswith("LEAK "), f"exit status {r.returncode}",
          r.stdout + r.stderr)
    check("stop and look: LEAK" in r.stderr, "the callback was not called", r.stderr)


def inside_and_outside_say_the_same(p):
    r = p.run(p.tidemark, "run", "-o", "run.tide", "--", p.train, "--epochs", EPOCHS, "--leak",
              "--run-file", "inner.tide")
    check(r.returncode == 3, f"exit status {r.returncode}", r.stdout + r.stderr)
    check(not (p.folder / "inner.tide").exists(), "two files were written")
    answer = json.loads(p.show("--json").stdout)
    check(answer["verdict"] == "leak" and "LEAK" in r.stdout, "they differ", r.stdout)
    check(answer["job"]["last_step"] == int(EPOCHS) * 32, "steps", json.dumps(answer["job"]))
    rate = deciding(answer)["rate"]
    # By some thirty samples: off by 13 % was seen.
    check(abs(rate - truth(r.stdout)) < 0.2 * truth(r.stdout), f"{rate:.0f} bytes a step", r.stdout)


PHASES = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark.h>
#include <unistd.h>

static void take(size_t bytes, int keep)
{
    char *memory = malloc(bytes);
    if (memory)
        memset(memory, 1, bytes);
    usleep(10000);
    if (!keep)
        free(memory);
}

int main(int argc, char **argv)
{
    size_t kept = argc > 2 ? (size_t) atoi(argv[2]) << 20 : 0;
    struct tidemark_options o = {.size = sizeof(o), .run_file = argv[1]};
    char *report = NULL;
    tidemark_watcher *w = NULL;
    tidemark_open(&o, &w);
    for (int step = 1; step <= 600; step++) {
        usleep(1000);
        tidemark_step(w, NAN);
        if (step % 50 != 0)
            continue;
        tidemark_phase_begin(w, "evaluate");
        take((size_t) 100 << 20, 0);
        if (kept > 0)
            take(kept, 1);
        tidemark_phase_end(w, "evaluate");
        tidemark_phase_end(w, "evaluate");
    }
    tidemark_finish(w);
    if (tidemark_report(w, &report) == 0)
        fputs(report, stdout);
    tidemark_free(report);
    tidemark_close(w);
    return 0;
}
"""


def phases_have_names_and_leaks_stay_leaks(p):
    (p.folder / "phases.c").write_text(PHASES)
    build_program(p, "phases")
    r = p.run("./phases", "run.tide")
    check(r.stdout.startswith("\nNO LEAK: "), "verdict", r.stdout)
    shown = p.show("--full").stdout
    phases = " ".join(re.search(r"^  phases +(.*?)^  limit", shown, re.M | re.S)[1].split())
    check(re.fullmatch(r"evaluate 12 times, .* each, up to (99\.\d|10\d) MB above the floor "
                       r"\(host.anon\), given back each .*", phases), phases, shown)
    (p.folder / "run.tide").unlink()
    r = p.run("./phases", "run.tide", "10")
    check(r.stdout.startswith("\nLEAK "), "verdict", r.stdout)
    shown = p.show("--full").stdout
    check("on average 10.0 MB stayed" in " ".join(shown.split()), "what stayed", shown)


# ---- the shared library ----


def library_shows_the_header_and_nothing_else(p):
    shown = p.run("nm", "-D", "--defined-only", "--with-symbol-versions", str(p.library)).stdout
    symbols = {line.split()[-1] for line in shown.splitlines()}
    header = (ROOT / "include" / "tidemark.h").read_text()
    wanted = set(re.findall(r"^TIDEMARK_API .*?(tidemark_\w+)\(", header, re.M))
    wanted = {f"{name}@@TIDEMARK_0.1" for name in wanted} | {"TIDEMARK_0.1"}
    check(len(wanted) > 10 and symbols == wanted, "other symbols: " + str(symbols ^ wanted))


def library_has_its_name_and_needs_little(p):
    dynamic = p.run("readelf", "-d", str(p.library)).stdout
    check("[libtidemark.so.0]" in dynamic, "no soname", dynamic)
    needed = set(re.findall(r"NEEDED.*\[(\w+)", dynamic)) - {"libasan", "libubsan", "libtsan"}
    check(needed <= {"libc", "libm", "libsqlite3", "ld"}, f"needs {needed}")


CASES = [correct_training_has_no_leak, leaking_training_leaks_at_its_true_rate,
         run_file_is_shown_and_judged_like_any_other, existing_run_file_is_left_alone,
         killed_training_leaves_its_last_seconds, manual_compiles_and_runs,
         manual_leaks_as_it_says, inside_and_outside_say_the_same,
         phases_have_names_and_leaks_stay_leaks,
         library_shows_the_header_and_nothing_else, library_has_its_name_and_needs_little]


def run_case(case, build):
    with tempfile.TemporaryDirectory() as folder:
        case(Program(build, pathlib.Path(folder)))


def main():
    asked = runner.arguments(__doc__)
    cases = [runner.Case(runner.words(case.__name__),
                         functools.partial(run_case, case, pathlib.Path(asked.target)))
             for case in CASES]
    return runner.run_all([c for c in cases if runner.is_wanted(c.name, asked.names)], PARALLEL)


if __name__ == "__main__":
    sys.exit(main())
