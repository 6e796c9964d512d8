# A module gathers what it has computed.
# verdict: leak
# holder: model.activations
# cause: retained-graph
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU())
        self.head = torch.nn.Linear(256, 8)
        self.activations = []
    def forward(self, x):
        h = self.body(x)
        self.activations.append(h.mean().item() if a.fix else h)  # here
        return self.head(h)
def train():
    model = Net(); opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(1, a.steps + 1):
        opt.zero_grad(); model(torch.randn(48, 64)).pow(2).mean().backward(); opt.step()
        time.sleep(0.001); print("step", i, flush=True)
train()
