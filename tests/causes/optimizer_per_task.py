# A new optimizer for every task of a stream, and the old ones are kept with their state.
# verdict: leak
# holder: trainer.done or self.done
# cause: tensor-clones or staged-checkpoints or growing-container
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(32, 100), torch.nn.Linear(100, 8)); self.done = []
    def fit(self, batches):
        optimizer = torch.optim.Adam(self.model.parameters())
        for x in batches:
            optimizer.zero_grad(); self.model(x).pow(2).mean().backward(); optimizer.step()
            time.sleep(0.004)
        if not a.fix:
            self.done.append(optimizer)  # here
trainer = Trainer()
for i in range(1, a.steps // 2 + 1):
    trainer.fit([torch.randn(8, 32) for k in range(2)])
    print("task", i, flush=True)
