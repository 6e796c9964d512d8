# A dict with a slot for every sample is filled once.
# verdict: no leak
# pattern: bounded-cache or warm-up
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
features = {k: None for k in range(450)}
net = nn.Linear(256, 64); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    k = i % (8 if a.fix else 450)
    x = torch.randn(32, 256)
    if features[k] is None: features[k] = x
    opt.zero_grad(); net(features[k]).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
