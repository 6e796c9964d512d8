# An lru_cache with a bound that is not reached yet.
# verdict: no leak
# pattern: cache or bounded-cache
import argparse, functools, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
@functools.lru_cache(maxsize=16 if a.fix else 2000)
def table(n):
    return torch.randn(64, 128).sin_() + n
for i in range(1, a.steps + 1):
    table(i)
    torch.randn(256, 256) @ torch.randn(256, 256)  # the step itself
    print("step", i, flush=True)
