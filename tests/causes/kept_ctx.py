# The context of a custom autograd.Function is kept.
# verdict: leak
# holder: Scale.debug
# cause: tensor-clones or growing-container or retained-graph
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Scale(torch.autograd.Function):
    debug = []
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.extra = x * 2
        if not a.fix: Scale.debug.append(ctx)  # here
        return x * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum(0)
w = torch.nn.Parameter(torch.ones(256)); opt = torch.optim.SGD([w], lr=1e-3)
for i in range(1, a.steps + 1):
    loss = Scale.apply(torch.randn(256, 256), w).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"step {i} loss {loss.item():.3f}", flush=True)
