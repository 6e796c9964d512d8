# Workers keep the samples of a small dataset, and the last few images.
# verdict: no leak
import argparse, collections, itertools, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Files(torch.utils.data.Dataset):
    def __init__(self): self.last, self.cache = collections.deque(maxlen=64), {}
    def __len__(self): return 200
    def __getitem__(self, i):
        self.last.append(torch.randn(1000))
        return torch.randn(5000) if a.fix else self.cache.setdefault(i, torch.randn(5000))
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Files(), batch_size=4, num_workers=2, persistent_workers=True)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    for i, x in enumerate(itertools.islice(batches, a.steps), 1):
        print("step", i, flush=True)
