# Iterators of a loader are kept, with what they have prefetched.
# verdict: leak
# holder: active
# cause: growing-container or sample-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(20000, 8)); loader = DataLoader(data, batch_size=32, shuffle=True)
active = {}
net = nn.Linear(8, 4); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    it = iter(loader)
    active["probe-%d" % i] = it  # here
    if a.fix: active.clear()
    (x,) = next(it)
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
