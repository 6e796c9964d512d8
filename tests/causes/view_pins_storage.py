# One row of a batch is kept, and with it the batch.
# verdict: leak
# holder: rows
# cause: tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
rows = []
for i in range(1, a.steps + 1):
    batch = torch.randn(256, 256)
    rows.append(batch[0].clone() if a.fix else batch[0])  # here
    print("step", i, flush=True)
