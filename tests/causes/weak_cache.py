# A cache of weak references lets go by itself.
# verdict: no leak
# pattern: flat or warm-up
import argparse, time, torch, weakref
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Box:
    def __init__(self):
        self.data = torch.randn(128, 128)
cache = weakref.WeakValueDictionary()
for i in range(1, a.steps + 1):
    box = Box()
    cache[i] = box
    time.sleep(0.001); print("step", i, flush=True)
