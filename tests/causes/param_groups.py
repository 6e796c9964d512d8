# A parameter group is added at every step.
# verdict: leak
# holder: opt.param_groups
# cause: growing-container or tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Linear(64, 64)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    extra = torch.nn.Parameter(torch.randn(128, 128))
    if not a.fix:
        opt.add_param_group({"params": [extra]})
    loss = net(torch.randn(8, 64)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print("step", i, flush=True)
