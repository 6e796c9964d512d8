# Freed memory stays in the heap, held by small blocks above it.
# verdict: no leak
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
kept = []
for i in range(1, a.steps + 1):
    work = [torch.ones(3000 + 7 * (k % 50)) for k in range(40)]
    if not a.fix:
        kept.append(torch.ones(8))
    del work
    print("step", i, flush=True)
