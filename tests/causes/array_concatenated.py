# An array is replaced by a larger one at every step.
# verdict: leak
# holder: scores
# cause: growing-object
import argparse, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
scores = np.zeros((0, 512))
for i in range(1, a.steps + 1):
    new = np.random.rand(16, 512)
    scores = new if a.fix else np.concatenate([scores, new])  # here
    print("step", i, flush=True)
