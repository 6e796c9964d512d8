# The iterators of a DataLoader are kept, and with each of them its worker process.
# verdict: leak
# holder: iterators
# cause: processes-piling-up
import argparse, time, torch
from torch.utils.data import DataLoader, TensorDataset
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def main():
    loader = DataLoader(TensorDataset(torch.randn(2000, 64)), batch_size=64, num_workers=1)
    iterators = []
    for i in range(1, a.steps + 1):
        if i % 10 == 0:
            iterators.append(iter(loader))  # here
            if a.fix: iterators = iterators[-1:]
            next(iterators[-1])
        time.sleep(0.003); print("step", i, flush=True)
main()
