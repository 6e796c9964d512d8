# A head is replaced again and again, and the optimizer keeps the state of the old ones.
# verdict: leak
# holder: state
# cause: growing-container or tensor-clones or optimizer
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Continual:
    def __init__(self):
        self.body = nn.Linear(32, 64); self.head = nn.Linear(64, 30)
        self.opt = torch.optim.Adam(self.body.parameters()); self.opt.add_param_group({"params": list(self.head.parameters())})
    def new_task(self):
        old = self.opt.param_groups.pop()
        if a.fix:
            for p in old["params"]: self.opt.state.pop(p, None)
        self.head = nn.Linear(64, 30)
        self.opt.add_param_group({"params": list(self.head.parameters())})
    def step(self):
        loss = self.head(self.body(torch.randn(16, 32))).pow(2).mean()
        self.opt.zero_grad(); loss.backward(); self.opt.step()
m = Continual()
for i in range(1, a.steps + 1):
    if i % 2 == 0: m.new_task()
    m.step()
    time.sleep(0.004); print("step", i, flush=True)
