# A module's buffer becomes longer at every step.
# verdict: leak
# holder: bank.keys
# cause: growing-object
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Bank(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(64, 128)
        self.register_buffer("keys", torch.zeros(0, 128))
    def forward(self, x):
        k = self.encoder(x)
        self.keys = torch.cat([self.keys, k.detach()])[-2000 if a.fix else -10**9:]  # here
        return k.mean()
bank = Bank(); opt = torch.optim.SGD(bank.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    opt.zero_grad(); bank(torch.randn(96, 64)).backward(); opt.step()
    time.sleep(0.001); print("step", i, flush=True)
