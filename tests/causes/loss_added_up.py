# The sum of the losses is a tensor, and its graph goes back to the first step.
# verdict: leak
# holder: total
# cause: retained-graph or retained-loss
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
total = 0.0
for i in range(1, a.steps + 1):
    loss = net(torch.randn(64, 64)).pow(2).mean()
    total += loss.item() if a.fix else loss  # here
    print("step", i, flush=True)
