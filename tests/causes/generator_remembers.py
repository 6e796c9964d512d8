# A generator remembers all it has given out.
# verdict: leak
# holder: given
# cause: tensor-clones
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def batches():
    given = []
    while True:
        batch = torch.randn(64, 128)
        if not a.fix:
            given.append(batch)  # here
        yield batch
source = batches()
for i in range(1, a.steps + 1):
    next(source).mean()
    time.sleep(0.001); print("step", i, flush=True)
