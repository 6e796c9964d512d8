# functools.cache keeps every argument and result.
# verdict: leak
# holder: embed
# cause: lru-cache
import argparse, functools, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def embed(n):
    return torch.randn(256, 256) + n
cached = embed if a.fix else functools.cache(embed)
for i in range(1, a.steps + 1):
    cached(i)
    print("step", i, flush=True)
