# A list of a fixed length is filled as a ring.
# verdict: no leak
# pattern: warm-up or bounded-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Ring:
    def __init__(self, n): self.items, self.n, self.k = [None] * n, n, 0
    def put(self, x): self.items[self.k % self.n] = x; self.k += 1
ring = Ring(10 if a.fix else 350)
net = nn.Linear(64, 64); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    out = net(torch.randn(128, 64)); opt.zero_grad(); out.pow(2).mean().backward(); opt.step()
    ring.put((i, out.detach(), [float(v) for v in out[0]]))
    time.sleep(0.004); print("step", i, flush=True)
