# Casted copies are cached by a key that never comes again.
# verdict: leak
# holder: cache
# cause: sample-cache or tensor-clones or growing-container
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Caster:
    def __init__(self): self.cache = {}
    def __call__(self, w):
        key = id(w)
        if key not in self.cache or self.cache[key][0] is not w:
            self.cache[key] = (w, w.double())  # here
        return self.cache[key][1]
caster = Caster()
net = nn.Linear(64, 64)
with torch.no_grad():
    for i in range(1, a.steps + 1):
        w = net.weight.detach() * 1.0
        caster(w)
        if a.fix: caster.cache.clear()
        time.sleep(0.002); print("step", i, flush=True)
