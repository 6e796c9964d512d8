# Forked workers read a list of dicts, and copy its pages.
# verdict: no leak
# pattern: copy-on-write
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from torch.utils.data import DataLoader, Dataset
class Captions(Dataset):
    def __init__(self):
        n = 250000
        self.annotations = (torch.arange(n) if a.fix else
                            [{"id": k, "text": "caption number %d" % k} for k in range(n)])
    def __len__(self):
        return a.steps * 400
    def __getitem__(self, k):
        row = self.annotations[k * 7919 % len(self.annotations)]
        return int(row) if a.fix else row["id"]
for i, batch in enumerate(DataLoader(Captions(), batch_size=400, num_workers=2), 1):
    time.sleep(0.001); print("step", i, flush=True)
