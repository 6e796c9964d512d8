# Nodes of a search tree that know their parents.
# verdict: leak
# holder: children
# cause: tensor-clones or growing-container or growing-object
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Node:
    def __init__(self, parent, state):
        self.parent, self.state, self.children = parent, state, []
    def expand(self):
        for k in range(5):
            self.children.append(Node(self, torch.randn(64, 64) + k))  # here
def play():
    root = Node(None, torch.zeros(64, 64))
    for i in range(1, a.steps + 1):
        root.expand()
        root = max(root.children, key=lambda n: float(n.state.sum()))
        if a.fix: root.parent.children.clear(); root.parent = None
        time.sleep(0.005); print("move", i, "step", i, flush=True)
play()
