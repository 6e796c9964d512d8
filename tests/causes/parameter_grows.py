# A codebook is replaced by a larger parameter at every step.
# verdict: leak
# holder: w
# cause: growing-object
import argparse, time, torch
from torch import nn
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Codebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(0, 256))
    def extend(self, new):
        self.w = nn.Parameter(new if a.fix else torch.cat([self.w.detach(), new]))  # here
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(256, 256) for _ in range(40)))
        self.codebook = Codebook()
model = Model()
for i in range(1, a.steps + 1):
    model.codebook.extend(torch.randn(32, 256))
    time.sleep(0.002); print("step", i, flush=True)
