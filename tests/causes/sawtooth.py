# Outputs of an epoch are kept until its end.
# verdict: no leak
# pattern: sawtooth or flat or warm-up or bounded-cache
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
logits = []
for i in range(1, a.steps + 1):
    x = torch.randn(64, 512)
    logits.append(x.mean() if a.fix else x)
    if i % 50 == 0:
        logits.clear()
    print("step", i, flush=True)
