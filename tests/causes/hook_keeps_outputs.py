# A hook appends what it sees to a list of its own.
# verdict: leak
# holder: seen
# cause: tensor-clones or closure
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
def watch(module):
    seen = []
    def hook(_module, _inputs, output):
        seen.append(output.mean().item() if a.fix else output.detach())  # here
    module.register_forward_hook(hook)
watch(net[0])
for i in range(1, a.steps + 1):
    with torch.no_grad():
        net(torch.randn(32, 64))
    print("step", i, flush=True)
