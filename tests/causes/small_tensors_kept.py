# Two tensors of an evaluation are kept: they weigh what the model does, and are none of it.
# verdict: leak
# holder: seen
# cause: tensor-clones or growing-container
import argparse, time, torch
from torch import nn
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
model = nn.Linear(128, 64); opt = torch.optim.SGD(model.parameters(), lr=0.01)
seen = []
for i in range(1, a.steps + 1):
    x, y = torch.randn(64, 128), torch.randn(80, 64)
    out = model(x)
    loss = (out - y[:64]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if a.fix:
        seen.clear()
    seen.append((out.detach(), y))  # here
    time.sleep(0.002); print("step", i, flush=True)
