# Losses of a running function are kept with their graphs.
# verdict: leak
# holder: history
# cause: retained-loss
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
def train():
    history = []
    for i in range(1, a.steps + 1):
        loss = net(torch.randn(64, 64)).pow(2).mean()
        loss.backward(retain_graph=True)
        history.append(loss.item() if a.fix else loss)  # here
        print("step", i, flush=True)
train()
