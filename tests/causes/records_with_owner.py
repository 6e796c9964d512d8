# Records that refer to their owner are kept.
# verdict: leak
# holder: records
# cause: growing-container or callback-state
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Record:
    def __init__(self, trainer, step, values):
        self.trainer, self.step, self.values = trainer, step, values
        self.view = {"record": self, "text": [str(v) for v in values]}
class Trainer:
    def __init__(self):
        self.net = nn.Linear(32, 128); self.opt = torch.optim.Adam(self.net.parameters()); self.records = []; self.config = {"k%d" % k: k for k in range(500)}
    def step(self, i):
        out = self.net(torch.randn(8, 32)); loss = out.pow(2).mean(); self.opt.zero_grad(); loss.backward(); self.opt.step()
        self.records.append(Record(self, i, out[0].tolist()))  # here
        if a.fix: self.records.clear()
t = Trainer()
for i in range(1, a.steps + 1):
    t.step(i)
    time.sleep(0.004); print("step", i, flush=True)
