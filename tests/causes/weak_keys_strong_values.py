# The values of a WeakKeyDictionary hold its keys.
# verdict: leak
# holder: attributes
# cause: tensor-clones or growing-container
import argparse, time, torch, weakref
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Node:
    pass
attributes = weakref.WeakKeyDictionary()
for i in range(1, a.steps + 1):
    node = Node()
    attributes[node] = {"self": None if a.fix else node, "data": torch.zeros(96, 96)}  # here
    time.sleep(0.001); print("step", i, flush=True)
