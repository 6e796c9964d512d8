# A dict that lets the oldest go.
# verdict: no leak
# pattern: bounded-cache or warm-up or flat
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from collections import OrderedDict
recent = OrderedDict()
for i in range(1, a.steps + 1):
    recent[i] = torch.randn(128, 128)
    if len(recent) > (10 if a.fix else 100):
        recent.popitem(last=False)
    print("step", i, flush=True)
