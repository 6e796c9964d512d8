# Every sample of a dataset keeps its decoded image as an attribute.
# verdict: leak
# holder: data.samples[...].decoded
# cause: sample-cache or tensor-clones
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Sample:
    def __init__(self, k): self.k = k; self.decoded = None
    def load(self):
        if self.decoded is None:
            self.decoded = torch.randn(3, 48, 48)  # here
        x = self.decoded
        if a.fix: self.decoded = None
        return x
class Folder:
    def __init__(self, n): self.samples = [Sample(k) for k in range(n)]
    def __len__(self): return len(self.samples)
    def __getitem__(self, k): return self.samples[k].load()
data = Folder(50000); order = random.sample(range(50000), 50000)
net = nn.Linear(3 * 48 * 48, 4); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    x = torch.stack([data[order[(i * 4 + k) % 50000]] for k in range(4)]).flatten(1)
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
