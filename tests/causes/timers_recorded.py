# Times of steps are recorded as numbers.
# verdict: no leak
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
times = []
net = nn.Linear(64, 64); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    t = time.perf_counter(); opt.zero_grad(); net(torch.randn(32, 64)).pow(2).mean().backward(); opt.step()
    times.append(("step", t, time.perf_counter()))
    if a.fix: times.clear()
    time.sleep(0.004); print("step", i, flush=True)
