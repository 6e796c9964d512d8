# A dict of lists of arrays, as a recorder of curves has it.
# verdict: leak
# holder: history["outputs"]
# cause: sample-cache or growing-container
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
history = {"loss": [], "outputs": []}
net = torch.nn.Linear(64, 64); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    out = net(torch.randn(128, 64)); loss = out.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    history["loss"].append(loss.item())
    if not a.fix:
        history["outputs"].append(out.detach().numpy().copy())  # here
    time.sleep(0.001); print("step", i, flush=True)
