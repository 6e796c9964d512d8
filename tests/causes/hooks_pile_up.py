# A forward hook is registered at every step.
# verdict: leak
# holder: net
# cause: hooks-piling-up
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
def make_hook(scratch):
    return lambda module, inputs, output: scratch.copy_(output)
for i in range(1, a.steps + 1):
    handle = net[2].register_forward_hook(make_hook(torch.zeros(128, 8)))
    with torch.no_grad():
        net(torch.randn(128, 64))
    if a.fix:
        handle.remove()
    print("step", i, flush=True)
