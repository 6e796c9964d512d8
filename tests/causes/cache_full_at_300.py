# A cache is full in the middle of the run.
# verdict: no leak
# pattern: warm-up or bounded-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Decoder:
    def __init__(self, limit): self.limit, self.cache = limit, {}
    def get(self, k):
        if k in self.cache: return self.cache[k]
        x = torch.randn(3, 64, 64)
        if len(self.cache) < self.limit: self.cache[k] = x
        return x
d = Decoder(5 if a.fix else 300)
net = nn.Linear(3 * 64 * 64, 2); opt = torch.optim.SGD(net.parameters(), lr=0.001)
for i in range(1, a.steps + 1):
    opt.zero_grad(); net(d.get(i).flatten()).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
