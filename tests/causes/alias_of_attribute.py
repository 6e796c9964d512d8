# A buffer is added to by a local name for it.
# verdict: leak
# holder: collector.buffer
# cause: growing-container
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Collector:
    def __init__(self):
        self.buffer = []
    def collect(self, step):
        buf = self.buffer
        if a.fix:
            buf.clear()
        for k in range(20):
            row = [step * 0.5 + k] * 16
            buf.append(bytes(4096) + bytes(str(row), "ascii"))  # here
collector = Collector()
for i in range(1, a.steps + 1):
    collector.collect(i)
    time.sleep(0.002); print("step", i, flush=True)
