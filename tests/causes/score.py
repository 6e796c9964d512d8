"""What is said of programs whose truth is known: does it leak, who holds it, where, and why.

score.py TIDEMARK [--workloads DIR] [--quick] [--python PYTHON] [NAME...]

A program here tells its truth in its first lines: `# verdict:`, `# holder:`, `# cause:` (one of
several, with "or"), `# pattern:` of what only looks like a leak; the line that adds to the holder
ends in `# here`. Programs of another folder are described in ELSEWHERE, by the name of their
file. Each is run as it is and with --fix, which has to stay silent. Exit status 1: one is wrong.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 600
SECONDS = 900
COST_MOST = 0.005
QUICK = ("loss_in_list", "hidden_state", "tensor_concatenated", "native_leak",
         "image_cache", "callback_state", "connections_kept", "worker_keeps")

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
        self.lines = open(path, encoding="utf-8").read().splitlines()
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

    def run(self, options, extra=()):
        with tempfile.TemporaryDirectory() as folder:
            answer = os.path.join(folder, "answer.json")
            r = subprocess.run(
                [options.tidemark, "run", "--quiet", "--no-store", "--json", answer, "--",
                 options.python, self.path, "--steps", str(options.steps), *self.arguments, *extra],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS, cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"})
            if r.returncode == 77:
                return None
            if not os.path.exists(answer):
                sys.exit("%s: no answer: %s" % (self.name, r.stderr.decode()))
            return json.load(open(answer, encoding="utf-8"))


def either(expected, got):
    return not expected or got in expected.split(" or ")


def patterns_of(answer):
    """As the report names them, with what was found to fill."""
    named = {p["pattern"] for p in answer.get("patterns", [])}
    named |= {"cache"} if answer.get("caches") else set()
    return named or {"flat" if answer["verdict"] == "no_leak" else "unknown"}


def cost_of(answer):
    seconds = answer["job"]["seconds"]
    return sum(c["pause_seconds"] for c in answer.get("censuses", [])) / max(seconds, 0.1)


def is_named(holder, path):
    """The path ends where it should: `trainer.meter.values` is expected, or its last part."""
    return bool(re.search(r"(^|['.`])%s('|$|\[\.\.\.\])" % re.escape(holder), path))


class Result:
    def __init__(self, program, answer, fixed):
        findings = answer["findings"]
        first = findings[0] if findings else {}
        self.program, self.answer = program, answer
        self.verdict = answer["verdict"].replace("_", " ")
        self.holder = first.get("holder") or ""
        self.line = first.get("line")
        self.cause = first.get("cause") or ""
        self.sentence = first.get("sentence") or ""
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
            yield "holder", not p.holder or is_named(p.holder, self.holder) or p.holder in self.holder
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
            wanted = options.names or (QUICK if options.quick else ())
            if not wanted or p.name in wanted or name in wanted:
                yield p


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    a.add_argument("tidemark", type=os.path.abspath)
    a.add_argument("--workloads", metavar="DIR", help="programs of this folder instead")
    a.add_argument("--python", default="/usr/bin/python3", help="an interpreter with torch")
    a.add_argument("--steps", type=int, default=STEPS)
    a.add_argument("--quick", action="store_true", help="some of them")
    a.add_argument("--say", action="store_true", help="with the sentences")
    a.add_argument("names", nargs="*")
    options = a.parse_intermixed_args()
    right = total = 0
    for p in programs(options):
        answer = p.run(options)
        if answer is None:
            print("%-28s skipped: something it needs is missing" % p.name)
            continue
        r = Result(p, answer, p.run(options, ["--fix"]))
        total += 1
        right += all(r.checks.values())
        print("%s %-28s %-14s %-38s %-9s %-34s %s  %s" % (
            "ok  " if all(r.checks.values()) else "FAIL", *r.row()), flush=True)
        if options.say:
            for f in answer["findings"] + answer.get("caches", []):
                print("       " + f["sentence"])
            for text in answer.get("undecided", []):
                print("       open: " + text)
    print("%d of %d" % (right, total))
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
