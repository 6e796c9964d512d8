"""The cost of a method in use today on the benchmark's own series: one line of its table.

Mann-Kendall over every prefix, as tests/score/baselines.py has it. It keeps every sample.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "score"))
import baselines

shape, path = sys.argv[1:]
with open(path) as f:
    values = [float(line) for line in f]
series = baselines.S(
    dict(t=list(range(1, len(values) + 1)), v=values, horizon=150, epoch_len=None, limit_mb=1e9)
)
start = time.perf_counter()
verdict = baselines.mann_kendall(series, series.n)[0]
ns = 1e9 * (time.perf_counter() - start) / len(values)
print(
    "%-34s %10.2f %10.1f %10s %10s %10s %10s  %s"
    % ("Mann-Kendall in Python, " + shape, 1e3 / ns, ns, "-", "-", "-", "grows", verdict)
)
