# Features of every batch are kept between batches.
# verdict: leak
# holder: features
# cause: growing-container or sample-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import numpy as np
class Indexer:
    def __init__(self): self.features = []
    def add(self, batch):
        big = np.stack([b * 2 for b in batch]).astype(np.float32)
        for row in big[:4]:
            self.features.append(row[:2048].copy())  # here
        if a.fix: del self.features[:-8]
        return torch.from_numpy(big)
ix = Indexer(); net = nn.Linear(8192, 4); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    x = ix.add([np.random.rand(8192) for _ in range(random.randrange(8, 40))])
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
