# Of every class the features seen so far: each array is small, together they grow.
# verdict: leak
# holder: features
# cause: growing-object or growing-container
import argparse, time, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Prototypes:
    def __init__(self, classes):
        self.features = {c: np.zeros((0, 128)) for c in range(classes)}
    def add(self, c, x):
        known = self.features[c]
        self.features[c] = x if a.fix else np.concatenate([known, x])  # here
prototypes = Prototypes(200)
rng = np.random.default_rng(0)
for i in range(1, a.steps + 1):
    for c in rng.integers(0, 200, 8):
        prototypes.add(int(c), rng.standard_normal((8, 128)))
    time.sleep(0.002); print("step", i, flush=True)
