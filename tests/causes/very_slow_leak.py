# A small tensor is kept now and then.
# verdict: leak
# holder: centroids
# cause: tensor-clones
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Clusterer:
    centroids = []
    def update(self, x):
        self.centroids.append(x.mean(0).clone())  # here
        if a.fix: del self.centroids[:-5]
c = Clusterer(); net = nn.Linear(32, 900)
with torch.no_grad():
    for i in range(1, a.steps + 1):
        c.update(net(torch.randn(8, 32)))
        time.sleep(0.003); print("step", i, flush=True)
