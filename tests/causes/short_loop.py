# A loop that is over in some 30 ms keeps its exceptions: the third census comes at the program's end.
# verdict: leak
# holder: failed
# cause: exception-tracebacks
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
failed = []
def train_step(i):
    batch = torch.ones(16384)
    if i % 3 == 0:
        raise RuntimeError("bad batch %d" % i)
    return batch.mean()
for i in range(1, a.steps + 1):
    try:
        train_step(i)
    except RuntimeError as e:
        failed.append(str(e) if a.fix else e)  # here
    print("step", i, flush=True)
