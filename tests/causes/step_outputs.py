# Outputs of a small model, each as large as its weights.
# verdict: leak
# holder: model.step_outputs
# cause: tensor-clones or growing-container
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.fc = torch.nn.Linear(32, 512); self.step_outputs = []
    def validation_step(self, x, y):
        with torch.no_grad(): logits = self.fc(x)
        self.step_outputs.append({"logits": logits, "labels": y})  # here
    def on_validation_epoch_end(self): self.step_outputs.clear()
model = Net(); opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(1, a.steps + 1):
    x, y = torch.randn(64, 32), torch.randint(512, (64,))
    loss = torch.nn.functional.cross_entropy(model.fc(x), y); opt.zero_grad(); loss.backward(); opt.step()
    model.validation_step(x, y)
    if a.fix: model.on_validation_epoch_end()
    print(f"step {i}/{a.steps} loss={loss.item():.4f}", flush=True)
