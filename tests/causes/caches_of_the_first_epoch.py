# Samples are decoded once, in the first epoch.
# verdict: no leak
# pattern: warm-up or bounded-cache
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
samples = {}
i = 0
while i < a.steps:
    for k in range(100):
        i += 1
        if k not in samples and not a.fix:
            samples[k] = torch.randn(4, 64, 64)
        time.sleep(0.001); print("step", i, flush=True)
