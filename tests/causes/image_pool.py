# A pool of images has a bound and fills.
# verdict: no leak
# pattern: bounded-cache or warm-up
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class ImagePool:
    def __init__(self, n): self.n, self.images = n, []
    def query(self, x):
        if len(self.images) < self.n: self.images.append(x.clone()); return x
        k = random.randrange(self.n); old = self.images[k]; self.images[k] = x.clone(); return old
pool = ImagePool(4 if a.fix else 250); net = nn.Linear(3072, 8); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    x = pool.query(torch.randn(4, 3072))
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
