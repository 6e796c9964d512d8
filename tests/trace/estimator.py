#!/usr/bin/env python3
"""tests/trace/estimator.py BUILD [--runs N]: what the tracer says of a program whose sites keep
known bytes, run after run.

BUILD/tests/known_sites runs under `tidemark run --trace`: real allocations, the real probe, another
seed each time. docs/SAMPLING.md has the mathematics. The truth has to be within 3 standard errors
in 99.7 % of all cases, the mean of all runs without bias, and the errors that tidemark reports as
large as they are. Prints a table, and "N passed, N failed" last.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import tempfile

INTERVAL = 65536
AT_ONCE = 8
TRIES = 3
BEYOND_3 = 0.0027  # of a normal distribution
SURELY = 4  # standard errors: wrong once in 16,000


def taken_for(size):
    """What glibc takes for a block on 64-bit machines."""
    return max(32, (size + 8 + 15) // 16 * 16)


class Case:
    """One site in one run."""

    def __init__(self, name, kept, made, site, interval):
        self.size = int(name.split("_")[1])
        count, taken = kept // self.size, taken_for(self.size)
        self.name, self.kept, self.made = name, count * taken, made // self.size * taken
        self.live, self.error, self.allocated = site["live"], site["live_error"], site["allocated"]
        chance = -math.expm1(-(self.size + 1) / interval)
        weight = taken / chance
        # Each sample stands for w / n allocations: the variance is n (w - n) for each.
        self.sigma = math.sqrt(self.kept * (weight - taken))
        kept = self.kept
        missed = count * math.exp(-(self.size + 1) / interval)
        self.is_certain = missed < 1e-3
        # Where few allocations are missed, or few sampled, sums are not normal: 3 standard errors
        # say nothing there.
        self.is_normal = missed > 10 and kept / weight > 20


def truths_of(output):
    rows = (line.split() for line in output.splitlines())
    return {row[0]: (int(row[1]), int(row[2])) for row in rows
            if len(row) == 3 and row[0].startswith("size_")}


def site_of(process, name):
    found = [site for site in process["sites"]
             if any(frame.get("function") == name for frame in site["frames"])]
    return found[0] if len(found) == 1 else None


def run_once(build, folder, number):
    """The cases of one run; None: the watcher never met the program, or not while it ran."""
    path = pathlib.Path(folder) / ("%d.tide" % number)
    ran = subprocess.run([build / "tidemark", "run", "--trace=%d" % INTERVAL, "-o", path, "--",
                          build / "tests/known_sites"], capture_output=True, text=True, timeout=300)
    truths = truths_of(ran.stdout)
    exported = subprocess.run([build / "tidemark", "export", path, "--json"], capture_output=True,
                              text=True, timeout=60)
    path.unlink(missing_ok=True)
    if not truths or exported.returncode != 0:
        return None
    process = json.loads(exported.stdout)["processes"][0]
    interval, cases = process["tracer"]["interval"], []
    for name, (kept, made) in truths.items():
        site = site_of(process, name)
        if site is None:
            return None
        cases.append(Case(name, kept, made, site, interval))
    return cases, interval, process["tracer"]


def run_all(build, runs):
    def one(number):
        for _ in range(TRIES):
            result = run_once(build, folder, number)
            if result:
                return result
        return None

    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(runs)))


# ---- statistics ----


def most_by_chance(count, share):
    """A binomial count is larger once in a hundred thousand."""
    total, k = 0.0, 0
    term = (1 - share) ** count
    while total + term < 1 - 1e-5 and k < count:
        total += term
        term *= (count - k) / (k + 1) * share / (1 - share)
        k += 1
    return k


class Summary:
    """Of all cases of one site."""

    def __init__(self, cases, scale=1.0):
        n = self.cases = len(cases)
        self.name, self.kept = cases[0].name, cases[0].kept
        self.is_certain = cases[0].is_certain
        self.bias = sum(scale * c.live / c.kept - 1 for c in cases) / n
        self.made_bias = sum(scale * c.allocated / c.made - 1 for c in cases) / n
        if self.is_certain:
            self.worst = max(abs(scale * c.live / c.kept - 1) for c in cases)
            return
        z = [(scale * c.live - c.kept) / c.sigma for c in cases]
        self.sigma = sum(c.sigma / c.kept for c in cases) / n
        self.mean = sum(z) / math.sqrt(n)  # standard normal without bias
        self.square = sum(x * x for x in z) / n
        self.beyond = sum(abs(x) > 3 for x in z)
        self.reported = sum(c.error / c.sigma for c in cases) / n
        # What was allocated was sampled at the shortest interval at first: at most this error.
        self.made_mean = self.made_bias / (self.sigma / math.sqrt(n))


def by_site(results):
    """Of each site the cases that can be judged, if there are any."""
    sites = {}
    for cases, _, _ in results:
        for case in cases:
            if case.is_certain or case.is_normal:
                sites.setdefault((case.name, case.is_certain), []).append(case)
    return [cases for cases in sites.values() if len(cases) > 1]


def print_table(summaries, runs, intervals):
    print("%d runs, one sample in %s to %s bytes" % (runs, min(intervals), max(intervals)))
    print("%-17s %12s %8s %8s %7s %6s %8s %9s" % ("site", "bytes kept", "sigma", "bias", "mean z",
                                                 "z^2", "beyond 3", "reported"))
    for s in summaries:
        if s.is_certain:
            print("%-17s %12d   every one: off by %.1e at most" % (s.name, s.kept, s.worst))
        else:
            print("%-17s %12d %6.2f %% %+6.2f %% %+7.2f %6.2f %8d %9.2f"
                  % (s.name, s.kept, 100 * s.sigma, 100 * s.bias, s.mean, s.square, s.beyond,
                     s.reported))


def faults(summaries):
    """What no sound estimator does, in words."""
    sampled = [s for s in summaries if not s.is_certain]
    cases = sum(s.cases for s in sampled)
    beyond = sum(s.beyond for s in sampled)
    square = sum(s.square * s.cases for s in sampled) / cases
    width = SURELY * math.sqrt(3 / cases)  # z^2 of a mixture of Poisson counts varies by about 2
    if beyond > most_by_chance(cases, BEYOND_3):
        yield "the truth is beyond 3 standard errors in %d of %d cases" % (beyond, cases)
    if abs(square - 1) > width:
        yield "the mean square of the errors is %.2f, not within %.2f of 1" % (square, width)
    pooled = sum(s.mean for s in sampled) / math.sqrt(len(sampled))
    if abs(pooled) > SURELY:
        yield "all sites together are biased by %.1f standard errors" % pooled
    for s in sampled:
        if abs(s.mean) > SURELY:
            yield "%s is biased by %.1f standard errors" % (s.name, s.mean)
        if s.made_mean < -SURELY or s.made_mean > SURELY:
            yield "what %s allocated is biased by %.1f standard errors" % (s.name, s.made_mean)
        if not 0.9 < s.reported < 1.1:
            yield "the error of %s is reported as %.2f of what it is" % (s.name, s.reported)
    for s in summaries:
        if s.is_certain and s.worst > 1e-5:
            yield "%s is off by %.1e though all is sampled" % (s.name, s.worst)


# ---- tests ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    results = [r for r in run_all(arguments.build, arguments.runs) if r]
    failed = []

    def test(name, problem):
        if problem:
            failed.append(name)
            print("FAIL %s: %s" % (name, problem))

    test("estimator__samples_every_run", len(results) < arguments.runs and
         "%d of %d runs were not traced" % (arguments.runs - len(results), arguments.runs))
    if not results:
        print("0 passed, 1 failed")
        return 1
    groups = by_site(results)
    summaries = [Summary(cases) for cases in groups]
    print_table(summaries, len(results), [interval for _, interval, _ in results])
    test("estimator__has_the_truth_within_its_errors", "; ".join(faults(summaries)))
    lost = sum(t["dropped"] + t["stackless"] + t["lost_frees"] for _, _, t in results)
    test("estimator__loses_no_sample", lost and "%d were lost" % lost)
    alike = len({tuple(case.live for case in cases) for cases, _, _ in results}) < len(results)
    test("estimator__has_another_seed_in_every_run", alike and "two runs have the same samples")
    for scale in (0.9, 1.1):
        wrong = [Summary(cases, scale) for cases in groups]
        test("estimator__would_show_a_bias_of_%+.0f_percent" % (100 * scale - 100),
             not list(faults(wrong)) and "it does not")
    print("%d passed, %d failed" % (6 - len(failed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
