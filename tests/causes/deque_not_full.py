# A deque with a maxlen that it does not reach.
# verdict: no leak
# pattern: cache or bounded-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
from collections import deque
class Memory:
    def __init__(self, cap): self.d = deque(maxlen=cap)
    def push(self, **t): self.d.append(t)
mem = Memory(10 if a.fix else 2000)
net = nn.Linear(256, 8); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    s = torch.randn(16, 256)
    mem.push(state=s, action=i % 4, reward=random.random(), info={"t": i, "p": [0.25] * 4})
    b = mem.d[random.randrange(len(mem.d))]
    opt.zero_grad(); net(b["state"]).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
