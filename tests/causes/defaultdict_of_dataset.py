# A defaultdict by the sample's number fills in the first epoch.
# verdict: no leak
# pattern: warm-up or bounded-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
from collections import defaultdict
features = defaultdict(list)
net = nn.Linear(64, 512); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    k = (i * 7) % 256
    x = torch.randn(32, 64)
    out = net(x); opt.zero_grad(); out.pow(2).mean().backward(); opt.step()
    if not a.fix: features[k] = [out.detach()]
    time.sleep(0.004); print("step", i, flush=True)
