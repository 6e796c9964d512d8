# A sum of losses whose graph becomes larger than anybody walks.
# verdict: leak
# holder: total
# cause: retained-graph
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
weight = torch.randn(4, requires_grad=True)
def train():
    total = torch.zeros(4)
    for i in range(1, a.steps + 1):
        loss = weight
        for layer in range(1000):
            loss = loss * 0.5
        total = total + (loss.detach() if a.fix else loss)  # here
        print("step", i, flush=True)
train()
