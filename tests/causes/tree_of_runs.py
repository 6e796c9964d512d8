# A tree of runs, each with its parameters and results, is kept.
# verdict: leak
# holder: runs or children
# cause: growing-container or growing-object
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import json
class Node:
    __slots__ = ("value", "children", "parent")
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None: parent.children.append(self)  # here
root = Node("experiment")
net = nn.Linear(32, 10); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    out = net(torch.randn(64, 32)); loss = out.pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    run = Node({"step": i, "loss": loss.item()}, root)
    for row in out.tolist():
        Node({"out": row, "max": max(row), "text": json.dumps(row)}, run)
    if a.fix: root.children = root.children[-2:]
    time.sleep(0.004); print("step", i, flush=True)
