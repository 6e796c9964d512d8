# A DataFrame of results is kept for every step.
# verdict: leak
# holder: frames
# cause: sample-cache or growing-container
import argparse, sys, time
try:
    import numpy as np, pandas as pd
except ImportError:
    sys.exit(77)
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
frames, rng = [], np.random.default_rng(0)
for i in range(1, a.steps + 1):
    frames.append(pd.DataFrame({"score": rng.random(2000), "label": rng.integers(0, 9, 2000)}))  # here
    if a.fix: del frames[:-8]
    time.sleep(0.002); print("step", i, flush=True)
