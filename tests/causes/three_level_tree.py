# Nodes that refer to their parents, three levels deep.
# verdict: leak
# holder: runs
# cause: growing-container or growing-object
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
class Node:
    def __init__(self, name, parent=None):
        self.name, self.parent, self.children, self.scores = name, parent, [], []
    def child(self, name):
        n = Node(name, self); self.children.append(n); return n
runs = []
net = nn.Linear(32, 10); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    run = Node("run %d" % i)
    for e in range(5):
        epoch = run.child("epoch %d" % e)
        for b in range(8):
            epoch.child("batch %d.%d" % (e, b)).scores = torch.rand(20).tolist()
    runs.append(run)  # here
    if a.fix: del runs[:-2]
    opt.zero_grad(); net(torch.randn(64, 32)).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
