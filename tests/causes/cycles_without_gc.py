# Cycles, and the collector is switched off.
# verdict: leak
# holder: a reference cycle
# cause: cycle-awaiting-collector
import argparse, gc, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Node:
    def __init__(self):
        self.data = torch.randn(128, 128)
        self.me = self
if not a.fix:
    gc.disable()
for i in range(1, a.steps + 1):
    node = Node()
    if a.fix:
        node.me = None
    print("step", i, flush=True)
