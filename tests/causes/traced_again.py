# A module is traced at every step.
# verdict: leak
# cause: native or compile-cache
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(10)])
x = torch.randn(2, 8)
traced = None
for i in range(1, a.steps + 1):
    if traced is None or not a.fix:
        traced = torch.jit.trace(net, x)
    traced(x)
    print("step", i, flush=True)
