# A meter for every class, each with a history of its own: no one of them is long.
# verdict: leak
# holder: meters[...].history
# cause: growing-container
import argparse, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Meter:
    def __init__(self, name): self.name, self.total, self.history = name, 0.0, []
    def update(self, value):
        self.total += value
        self.history.append((value, self.total))  # here
        if a.fix: del self.history[:-10]
meters = [Meter("class %d" % k) for k in range(200)]
for i in range(1, a.steps + 1):
    for m in meters: m.update(random.random())
    time.sleep(0.004); print("step", i, flush=True)
