# Of an iterator that was split in two, one is never read.
# verdict: leak
# holder: preview
# cause: tensor-clones or growing-container
import argparse, itertools, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def batches():
    while True: yield torch.randn(160, 160)
def train():
    stream, preview = itertools.tee(batches())  # here
    for i in range(1, a.steps + 1):
        x = next(stream)
        if a.fix: next(preview)
        x.mean(); time.sleep(0.002)
        print(f"step {i}", flush=True)
train()
