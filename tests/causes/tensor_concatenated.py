# Predictions are put together at every step, in an object.
# verdict: leak
# holder: evaluator.preds
# cause: growing-object
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Evaluator:
    def __init__(self):
        self.preds = torch.zeros(0, 1000)
    def add(self, x):
        self.preds = x if a.fix else torch.cat([self.preds, x])  # here
evaluator = Evaluator()
for i in range(1, a.steps + 1):
    evaluator.add(torch.randn(16, 1000))
    print("step", i, flush=True)
