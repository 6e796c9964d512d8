# A default argument is the same list at every call.
# verdict: leak
# holder: bucket
# cause: tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def collect(x, bucket=[]):
    bucket.append(x)  # here
    if a.fix:
        bucket.clear()
    return bucket
for i in range(1, a.steps + 1):
    collect(torch.randn(128, 128))
    print("step", i, flush=True)
