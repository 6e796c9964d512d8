# An entry of a dict is added to by another name.
# verdict: leak
# holder: stats['loss'] or stats
# cause: growing-container
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Meter:
    def __init__(self):
        self.stats = {}
    def update(self, name, values):
        means = self.stats.setdefault(name, [])
        if a.fix:
            means.clear()
        means.extend(values)  # here
meter = Meter()
for i in range(1, a.steps + 1):
    meter.update("loss", [i + k / 7 for k in range(2000)])
    time.sleep(0.002); print("step", i, flush=True)
