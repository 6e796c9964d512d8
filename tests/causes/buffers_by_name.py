# A module registers a buffer under a new name at every step.
# verdict: leak
# holder: model.pos._buffers
# cause: tensor-clones or growing-container
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Pos(torch.nn.Module):
    def forward(self, x, offset):
        name = "pe_%d" % (0 if a.fix else offset)
        if not hasattr(self, name):
            self.register_buffer(name, torch.arange(16384.).add(offset).sin(), persistent=False)  # here
        return x + getattr(self, name).view(128, 128)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.pos, self.head = Pos(), torch.nn.Linear(128, 32)
    def forward(self, x, offset): return self.head(self.pos(x, offset))
model = Model(); opt = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    loss = model(torch.randn(128, 128), i).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"step {i}/{a.steps} loss={loss.item():.4f}", flush=True)
