# A dataset keeps what it has read, in each of its workers.
# verdict: leak
# holder: seen
# cause: tensor-clones
import argparse, itertools, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Files(torch.utils.data.Dataset):
    def __init__(self): self.seen = []
    def __len__(self): return 200
    def __getitem__(self, i):
        x = torch.randn(2000)
        if not a.fix: self.seen.append(x)  # here
        return x
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Files(), batch_size=4, num_workers=2, persistent_workers=True)
    net = torch.nn.Linear(2000, 10); opt = torch.optim.SGD(net.parameters(), lr=0.01)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    for i, x in enumerate(itertools.islice(batches, a.steps), 1):
        loss = net(x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
        print("step", i, flush=True)
