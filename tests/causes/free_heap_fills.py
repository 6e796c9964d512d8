# A leak into memory that lies free in malloc's heap: the process does not grow for long.
# verdict: leak
# holder: store.batches
# cause: growing-container
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Store:
    def __init__(self): self.batches = []
    def add(self, batch):
        self.batches.append(batch)  # here
        if a.fix: del self.batches[:-8]
store = Store()
prepared = [bytes([i % 256]) * 12000 for i in range(2000)]
last = prepared[-1]  # at the heap's end: what is before it is free, and is not given back
del prepared
for i in range(1, a.steps + 1):
    store.add(bytes([i % 256]) * 12000)
    time.sleep(0.001); print("step", i, flush=True)
