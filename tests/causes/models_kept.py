# Every trial's model stays in a list of results.
# verdict: leak
# holder: results
# cause: tensor-clones or staged-checkpoints
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
results = []
for i in range(1, a.steps + 1):
    net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.Linear(128, 10))
    net(torch.randn(4, 128)).mean().backward()
    results.append((i, 0.5) if a.fix else (i, net))  # here
    print("step", i, flush=True)
