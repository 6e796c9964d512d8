"""What is said of programs whose truth is known: does it leak, who holds it, where, and why.

score.py TIDEMARK [--workloads DIR] [--quick] [--python PYTHON] [NAME...]
score.py TIDEMARK --record [...]        runs them, and keeps their run files in tests/recordings
score.py TIDEMARK --replay [...]        judges those again, by `analyze`: no program is run; and
                                        by what was known at each moment, for alarms on the way
score.py TIDEMARK --replay --ledger     lists where the ledger judges otherwise than the report

A program here tells its truth in its first lines: `# verdict:`, `# holder:` and `# cause:` (one of
several, with "or"), `# pattern:` of what only looks like a leak; the line that adds to the holder
ends in `# here`. Programs of another folder are described in ELSEWHERE, by the name of their
file. Each is run as it is and with --fix, which has to stay silent. Exit status 1: one is wrong,
or of recordings more than the bars allow.
"""
import argparse
import concurrent.futures
import functools
import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import runner

STEPS = 600
SECONDS = 900
COST_MOST = 0.005
RECORDINGS = os.path.join(os.path.dirname(HERE), "recordings")
STAGE = "/tmp/recorded"  # programs are recorded from here: no path of a machine is kept
# Of the recordings so many have to be right, in all or of the leaks; none the wrong way round.
BARS = {"verdict": 0.97, "holder": 0.95, "cause": 0.90, "fix": 0.97}
ALARMS_MOST = 0.02  # of clean runs so many may have one on the way
# The recordings keep the numbers of the probe that made them. So for each kind of evidence one
# program is run live: weights of tensors, a graph that gets longer, malloc's account, objects,
# descriptors, a data worker.
QUICK = ("loss_in_list", "hidden_state", "native_leak", "callback_state", "connections_kept",
         "worker_keeps")
LIVE_AT_ONCE = 3  # they sleep between their steps

# name: verdict, holder, cause, words of the line that adds to it, pattern, more arguments
ELSEWHERE = {
    "00_clean_train": ("no leak", "", "", "", "flat"),
    "01_eval_loss_keeps_graph": ("leak", "val_losses", "retained-loss", "val_losses.append", ""),
    "04_create_graph_cycle": ("leak", "", "autograd-cycle", "", ""),
    "05_ctx_output_cycle": ("no leak", "", "", "", "sawtooth or bounded-cache or flat or spikes"),
    "05_ctx_output_cycle --no-gc": ("leak", "a reference cycle", "cycle-awaiting-collector or autograd-cycle", "", ""),
    "08_lru_cache_on_method": ("leak", "Encoder._pos", "lru-cache", "def _pos", ""),
    "08_lru_cache_on_method --maxsize 32": ("no leak", "", "", "", ""),
    "08_lru_cache_on_method --maxsize 5000": ("no leak", "", "", "", "cache or bounded-cache"),
    "10_eval_predictions_sawtooth": ("no leak", "", "", "", "sawtooth"),
    "11_exception_keeps_frames": ("leak", "failed", "exception-tracebacks", "failed.append", ""),
    "12_dataloader_cow_list": ("no leak", "", "", "", "copy-on-write"),
    "14_worker_sample_cache": ("no leak", "", "", "", "cache or bounded-cache"),
    "16_jit_trace_repeat": ("leak", "", "native or compile-cache", "", ""),
    "18_glibc_arenas_threads": ("no leak", "", "", "", ""),
    "22_async_checkpoint_staging": ("leak", "jobs", "staged-checkpoints", "jobs.append", ""),
    "23_optimizer_state_warmup": ("no leak", "", "", "", "warm-up"),
    "26_profiler_left_on": ("leak", "", "profiler-left-on", "", ""),
    "33_replay_buffer_fill": ("no leak", "", "", "", "cache or bounded-cache"),
    "36_native_malloc_leak": ("leak", "", "native", "", ""),
    "39_memalign_holes": ("no leak", "", "", "", "allocator-retention"),
}


class Program:
    def __init__(self, path, arguments=()):
        self.path, self.arguments = path, list(arguments)
        self.name = " ".join([os.path.splitext(os.path.basename(path))[0], *arguments])
        # Of a program of elsewhere the recording is here, and the source need not be.
        self.lines = open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []
        if self.name in ELSEWHERE:
            self.verdict, self.holder, self.cause, words, self.pattern = ELSEWHERE[self.name]
        else:
            self.verdict, self.holder, self.cause, self.pattern = (
                self.header(key) for key in ("verdict", "holder", "cause", "pattern"))
            words = "# here"
        self.line = next((n for n, text in enumerate(self.lines, 1) if words and words in text), 0)

    def header(self, key):
        for text in self.lines:
            if text.startswith("# %s:" % key):
                return text.split(":", 1)[1].strip()
        return ""

    def recording(self, extra):
        name = re.sub(r"[^A-Za-z0-9_]+", "-", " ".join([self.name, *extra]))
        return os.path.join(RECORDINGS, name + ".tide.xz")

    def answer(self, options, extra=()):
        """None: something that it needs is missing."""
        return (replay if options.replay else run)(self, options, extra)


def run(program, options, extra):
    with tempfile.TemporaryDirectory() as folder:
        answer, run_file = os.path.join(folder, "answer.json"), os.path.join(folder, "run.tide")
        path, store = program.path, ["--no-store"]
        if options.record:
            os.makedirs(STAGE, exist_ok=True)
            path, store = shutil.copy(program.path, STAGE), ["-o", run_file]
        r = subprocess.run(
            [options.tidemark, "run", "--quiet", *store, "--json", answer, "--",
             options.python, path, "--steps", str(options.steps), *program.arguments, *extra],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS, cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"})
        if r.returncode == 77:
            return None
        if not os.path.exists(answer):
            sys.exit("%s: no answer: %s" % (program.name, r.stderr.decode()))
        if options.record:
            keep(run_file, program.recording(extra))
        return json.load(open(answer, encoding="utf-8"))


def keep(run_file, path):
    """Without the answer of its time, and without the name of the machine."""
    with sqlite3.connect(run_file) as file:
        file.executescript("DELETE FROM answer; UPDATE run SET host = NULL; VACUUM;")
    os.makedirs(RECORDINGS, exist_ok=True)
    with open(run_file, "rb") as source, lzma.open(path, "wb", preset=9) as kept:
        kept.write(source.read())


def ask(program, command):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    if r.returncode != 0:
        sys.exit("%s: no answer: %s" % (program.name, r.stderr.decode()))
    return json.loads(r.stdout)


def replay(program, options, extra):
    path = program.recording(extra)
    if not os.path.exists(path):
        return None
    with tempfile.TemporaryDirectory() as folder:
        run_file = os.path.join(folder, "run.tide")
        with lzma.open(path) as kept, open(run_file, "wb") as copy:
            copy.write(kept.read())
        answer = ask(program, [options.tidemark, "analyze", "--json", run_file])
        if options.ledger:
            answer["whys"] = ask(program, [options.tidemark, "show", "--why", "--json", run_file])
        return answer


def either(expected, got):
    return not expected or got in expected.split(" or ")


def patterns_of(answer):
    """As the report names them, with what was found to fill."""
    named = {p["pattern"] for p in answer.get("patterns", [])}
    named |= {"cache"} if answer.get("caches") else set()
    return named or {"flat" if answer["verdict"] == "no_leak" else "unknown"}


def cost_of(answer):
    seconds = answer["job"].get("seconds", 1)
    return sum(c["pause_seconds"] for c in answer.get("censuses", [])) / max(seconds, 0.1)


def is_named(holder, path):
    """The path ends where it should: `trainer.meter.values` is expected, or its last part."""
    return bool(re.search(r"(^|['.`])%s('|$|\[\.\.\.\])" % re.escape(holder), path))


class Result:
    def __init__(self, program, answer, fixed):
        findings = answer["findings"]
        first = findings[0] if findings else {}
        self.program, self.answer, self.fixed = program, answer, fixed
        self.verdict = answer["verdict"].replace("_", " ")
        self.holder = first.get("holder") or ""
        self.line = first.get("line")
        self.cause = first.get("cause") or ""
        self.sentence = first.get("sentence") or ""
        self.advice = first.get("advice") or ""
        self.others = len(findings) - 1
        self.patterns = patterns_of(answer)
        self.cost = cost_of(answer)
        self.fix_is_silent = fixed["verdict"] != "leak" and not (
            fixed["findings"] and not fixed.get("growing_so_far"))
        self.checks = dict(self.judge())

    def judge(self):
        p = self.program
        if p.verdict == "leak":
            yield "verdict", self.verdict == "leak"
            yield "holder", not p.holder or any(is_named(name, self.holder) or name in self.holder
                                                for name in p.holder.split(" or "))
            yield "line", not p.line or self.line == p.line
            yield "cause", either(p.cause, self.cause)
        else:
            yield "verdict", self.verdict != "leak"
            yield "holder", not self.holder or self.answer.get("growing_so_far", False)
            yield "pattern", not p.pattern or bool(self.patterns & set(p.pattern.split(" or ")))
        yield "fix", self.fix_is_silent

    def row(self):
        p = self.program

        def pair(key, expected, got):
            return "%s%s" % (got or "-", "" if self.checks.get(key, True) else "  (not %s)" % expected)

        cause = (pair("cause", p.cause, self.cause) if p.verdict == "leak"
                 else pair("pattern", p.pattern, ",".join(sorted(self.patterns))))
        return (p.name, pair("verdict", p.verdict, self.verdict),
                pair("holder", p.holder or "none", self.holder),
                pair("line", p.line, "line %.0f" % self.line if self.line else ""), cause,
                "silent" if self.fix_is_silent else "LOUD", "%.2f %%" % (100 * self.cost))


def programs(options):
    folder = options.workloads or HERE
    names = sorted(n[:-3] for n in os.listdir(folder) if n.endswith(".py") and n != "score.py")
    for name in names:
        path = os.path.join(folder, name + ".py")
        variants = [n.split(" ")[1:] for n in ELSEWHERE if n.split(" ")[0] == name]
        for arguments in variants or ([[]] if not options.workloads else []):
            p = Program(path, arguments)
            if is_wanted(p, options):
                yield p
    if options.replay and not options.workloads:
        for name in ELSEWHERE:
            p = Program(name.split(" ")[0] + ".py", name.split(" ")[1:])
            if is_wanted(p, options):
                yield p


def is_wanted(program, options):
    wanted = options.names or (QUICK if options.quick else ())
    return not wanted or program.name in wanted or program.name.split(" ")[0] in wanted


def judge(program, options):
    """None: it could not be run, or was not recorded."""
    answer = program.answer(options)
    fixed = program.answer(options, ["--fix"]) if answer else None
    return Result(program, answer, fixed) if fixed else None


def described(r, options):
    lines = ["%-28s %-14s %-38s %-9s %-34s %s  %s" % r.row()]
    if r.advice and (options.replay or options.say):
        lines.append("       advice: " + r.advice)
    if options.say:
        lines += ["       " + f["sentence"] for f in r.answer["findings"] + r.answer.get("caches", [])]
        lines += ["       open: " + text for text in r.answer.get("undecided", [])]
    return "\n".join(lines)


def show(r, options):
    print("ok  " if all(r.checks.values()) else "FAIL", described(r, options), flush=True)


def check_live(program, options):
    """As a case of the runner."""
    r = judge(program, options)
    if r is None:
        raise runner.Skipped("something it needs is missing")
    runner.expect(all(r.checks.values()), described(r, options))
    return described(r, options)


def show_ledgers(r):
    """Processes whose ledger says otherwise than the report; how many."""
    differ = 0
    for name, answer in ((r.program.name, r.answer), (r.program.name + " --fix", r.fixed)):
        for why in answer["whys"]:
            ledger = why["ledger"]
            if ledger["verdict"] == why["verdict"]:
                continue
            differ += 1
            parts = ", ".join("%s %.1f to %.1f MB (%s)" % (
                p["what"], p["bytes"]["low"] / 1e6, (p["bytes"].get("high") or 0) / 1e6, p["fate"])
                for p in ledger["parts"][:3])
            print("%-36s %-28s report %-12s ledger %-12s of %.1f MB, %.1f horizons: %s" % (
                name, why["series"], why["verdict"], ledger["verdict"], ledger["growth"] / 1e6,
                ledger["horizons"], parts))
    return differ


def meets_bars(results):
    """Of recordings: the shares that are right, and whether they are enough."""
    enough = True
    for check, bar in BARS.items():
        of_leaks = check in ("holder", "cause")
        asked = [r for r in results if check in r.checks and
                 (not of_leaks or r.program.verdict == "leak")]
        right = sum(r.checks[check] for r in asked)
        enough = enough and right >= bar * len(asked)
        print("%-8s %3d of %3d right, %.1f %%; at least %.0f %% are required"
              % (check, right, len(asked), 100 * right / max(len(asked), 1), 100 * bar))
    return enough


def unpack(program, folder):
    """Its recordings, as it is and fixed: (path, has a leak)."""
    for extra, leaks in (([], program.verdict == "leak"), (["--fix"], False)):
        path = program.recording(extra)
        copy = os.path.join(folder, os.path.basename(path)[:-len(".xz")])
        with lzma.open(path) as kept, open(copy, "wb") as run_file:
            run_file.write(kept.read())
        yield copy, leaks


def stream(options, paths):
    """What tests/causes/alarms.c says of each: [(path, ["+host.anon@213", ...])]."""
    command = [os.path.join(os.path.dirname(options.tidemark), "tests", "alarms"), *paths]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [(line.split()[0], line.split()[1:]) for line in lines.splitlines()]


def few_alarms(results, options):
    """Of recordings, moment by moment: whether clean runs have few enough alarms on the way."""
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = dict(pair for r in results for pair in unpack(r.program, folder))
        parts = [list(runs)[i::os.cpu_count()] for i in range(os.cpu_count())]
        said = dict(pair for part in pool.map(lambda part: stream(options, part), parts)
                    for pair in part)
    loud = {path for path, words in said.items() if any(w[0] == "+" for w in words)}
    withdrawn = sum(w[0] == "-" for words in said.values() for w in words)
    clean = [path for path, leaks in runs.items() if not leaks]
    wrong = [path for path in clean if path in loud]
    for path in wrong:
        print("alarm    in %s: %s" % (os.path.basename(path), " ".join(said[path])))
    print("alarms   %d of %d clean runs on the way, %.1f %%; at most %.0f %% may be; %d withdrawn; "
          "%d of %d leaks were announced"
          % (len(wrong), len(clean), 100 * len(wrong) / max(len(clean), 1), 100 * ALARMS_MOST,
             withdrawn, len(loud) - len(wrong), len(runs) - len(clean)))
    return len(wrong) <= ALARMS_MOST * len(clean)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    a.add_argument("tidemark", type=os.path.abspath)
    a.add_argument("--workloads", metavar="DIR", help="programs of this folder instead")
    a.add_argument("--python", default="/usr/bin/python3", help="an interpreter with torch")
    a.add_argument("--steps", type=int, default=STEPS)
    a.add_argument("--quick", action="store_true", help="some of them")
    a.add_argument("--say", action="store_true", help="with the sentences")
    a.add_argument("names", nargs="*")
    way = a.add_mutually_exclusive_group()
    way.add_argument("--record", action="store_true", help="keep the run files")
    way.add_argument("--replay", action="store_true", help="judge the kept ones again")
    a.add_argument("--ledger", action="store_true", help="with --replay: where it differs")
    options = a.parse_intermixed_args()
    chosen = list(programs(options))
    if not options.replay and not options.record:
        return runner.run_all([runner.Case(p.name, functools.partial(check_live, p, options))
                               for p in chosen], LIVE_AT_ONCE)
    results, skipped, differ = [], 0, 0
    at_once = os.cpu_count() if options.replay else 1  # what is recorded is not disturbed
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for p, r in zip(chosen, pool.map(lambda p: judge(p, options), chosen)):
            if r is None:
                skipped += 1
                print("%-28s skipped: %s" % (p.name, "it was not recorded" if options.replay
                                             else "something it needs is missing"))
                continue
            results.append(r)
            if options.ledger:
                differ += show_ledgers(r)
            else:
                show(r, options)
    if options.ledger:
        print("%d processes of %d programs differ" % (differ, len(results)))
        return 0
    right = sum(all(r.checks.values()) for r in results)
    print("%d of %d%s" % (right, len(results), ", %d skipped" % skipped if skipped else ""))
    if options.replay:
        fine = [meets_bars(results), few_alarms(results, options)]
        return 0 if results and all(fine) else 1
    return 0 if right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
