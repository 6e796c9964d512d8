# Gradients are copied into a dict at every step.
# verdict: leak
# holder: grads
# cause: lingering-gradients or tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
net = torch.nn.Linear(128, 128)
grads = {}
for i in range(1, a.steps + 1):
    net(torch.randn(8, 128)).pow(2).mean().backward()
    grads[0 if a.fix else i] = net.weight.grad.clone()  # here
    net.zero_grad()
    print("step", i, flush=True)
