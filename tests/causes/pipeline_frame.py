# A running generator keeps what it has yielded.
# verdict: leak
# holder: seen
# cause: tensor-clones or growing-container or sample-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
def pipeline(n):
    seen = []
    for k in range(n):
        x = torch.randn(64, 128)
        seen.append(x)  # here
        if a.fix: del seen[:-2]
        yield (x - seen[0].mean()) / 2
net = nn.Linear(128, 10); opt = torch.optim.SGD(net.parameters(), lr=0.01)
i = 0
for x in pipeline(a.steps):
    i += 1
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
