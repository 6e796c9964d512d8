# Of two generators the inner one keeps what it was given.
# verdict: leak
# holder: originals
# cause: growing-container or sample-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
def read(n):
    for k in range(n):
        yield {"id": k, "text": ["tok%d" % random.randrange(100000) for _ in range(300)]}
def augment(rows):
    originals = {}
    for row in rows:
        if row["id"] not in originals:
            originals[row["id"]] = row["text"]  # here
        if a.fix: originals.clear()
        yield row["text"][::-1]
def collate(rows):
    for words in rows:
        yield torch.tensor([hash(w) % 1000 for w in words])
def train():
    emb = nn.Embedding(1000, 16); opt = torch.optim.SGD(emb.parameters(), lr=0.01)
    for i, ids in enumerate(collate(augment(read(a.steps))), 1):
        opt.zero_grad(); emb(ids).pow(2).mean().backward(); opt.step()
        time.sleep(0.004); print("step", i, flush=True)
train()
