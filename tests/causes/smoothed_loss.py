# A smoothed loss keeps its graph; the variable that shows it has the same tensor.
# verdict: leak
# holder: smoother.value
# cause: retained-loss or retained-graph
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Smoother:
    def __init__(self): self.value = 0.0
    def __call__(self, x):
        x = x.detach() if a.fix else x
        self.value = 0.9 * self.value + 0.1 * x  # here
        return self.value
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01); smoother = Smoother()
for i in range(1, a.steps + 1):
    loss = model(torch.randn(32, 64)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    shown = smoother(loss)
    time.sleep(0.004); print("step %d loss %.4f" % (i, float(shown)), flush=True)
