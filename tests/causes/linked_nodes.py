# Nodes that each hold the one before.
# verdict: leak
# holder: last
# cause: tensor-clones or growing-container or growing-object
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Step:
    def __init__(self, before, data):
        self.before, self.data = before, data
def rollout():
    last = None
    for i in range(1, a.steps + 1):
        last = Step(None if a.fix else last, torch.randn(64, 64))  # here
        time.sleep(0.001); print("step", i, flush=True)
rollout()
