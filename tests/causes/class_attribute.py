# A list of the class is shared by all instances and grows.
# verdict: leak
# holder: Meter.values
# cause: tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Meter:
    values = []
    def update(self, x):
        if a.fix:
            self.last = x
        else:
            self.values.append(x)  # here
for i in range(1, a.steps + 1):
    meter = Meter()
    meter.update(torch.randn(128, 128))
    print("step", i, flush=True)
