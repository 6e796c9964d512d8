# A forward hook keeps the means of the channels, some hundred bytes a step.
# verdict: leak
# holder: stats or means
# cause: tensor-clones or closure or growing-container
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Probe:
    def __init__(self, model):
        self.stats = {}
        for name, m in model.named_modules():
            if isinstance(m, nn.Linear): m.register_forward_hook(self.make(name))
    def make(self, name):
        means = self.stats.setdefault(name, [])
        def hook(m, inp, out):
            means.append(out.detach().mean(dim=0))  # here
            if a.fix: del means[:-10]
        return hook
model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(16)]); opt = torch.optim.SGD(model.parameters(), lr=1e-3)
probe = Probe(model)
for i in range(1, a.steps + 1):
    loss = model(torch.randn(32, 64)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
