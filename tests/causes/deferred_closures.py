# Functions that wait to be called, with what they close over.
# verdict: leak
# holder: deferred
# cause: closure
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
deferred = []
def later(x, step):
    def report():
        return step, float(x.mean())
    deferred.append(report)  # here
net = torch.nn.Linear(128, 10); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    x = torch.randn(128, 128); loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    later(x, i)
    if a.fix:
        while deferred: deferred.pop()()
    print(f"step {i}/{a.steps} loss={loss.item():.4f}", flush=True)
