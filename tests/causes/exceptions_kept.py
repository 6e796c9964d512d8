# Exceptions are kept with their tracebacks, in a dict of an object.
# verdict: leak
# holder: guard.errors
# cause: exception-tracebacks
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Guard:
    def __init__(self):
        self.errors = {}
    def run(self, i):
        try:
            self.step(i)
        except ValueError as e:
            self.errors[i] = str(e) if a.fix else e  # here
    def step(self, i):
        acts = torch.randn(256, 256)
        if i % 2 == 0:
            raise ValueError("nan in %d" % i)
        return acts
guard = Guard()
for i in range(1, a.steps + 1):
    guard.run(i)
    print("step", i, flush=True)
