# Listeners of an event bus that nobody takes off again.
# verdict: leak
# holder: BUS.listeners["batch_end"]
# cause: hooks-piling-up
import argparse, time, torch
from collections import defaultdict
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Bus:
    def __init__(self): self.listeners = defaultdict(list)
    def on(self, event, f): self.listeners[event].append(f)  # here
    def off(self, event, f): self.listeners[event].remove(f)
BUS = Bus()
class Plot:
    def __init__(self, batch):
        self.image = batch.clone(); BUS.on("batch_end", self.draw)
    def draw(self, step): return self.image.mean()
def main():
    for i in range(1, a.steps + 1):
        plot = Plot(torch.randn(160, 160))
        if a.fix: BUS.off("batch_end", plot.draw)
        time.sleep(0.004); print("step", i, flush=True)
main()
