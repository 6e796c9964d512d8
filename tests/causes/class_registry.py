# A registry keeps classes and what belongs to them.
# verdict: leak
# holder: registry
# cause: growing-container or tensor-clones
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
registry = {}
class Task:
    def __init_subclass__(cls, **kw):
        registry[cls.__name__] = cls  # here
        if a.fix: 
            while len(registry) > 3: registry.pop(next(iter(registry)))
def make_task(i):
    return type("Task%d" % i, (Task,), {"prototypes": torch.randn(20, 64), "loss": lambda self, x: (x @ self.prototypes.t()).mean()})
net = nn.Linear(32, 64); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    task = make_task(i)()
    loss = task.loss(net(torch.randn(16, 32))); opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
