# The history of a callback of a trainer.
# verdict: leak
# holder: history
# cause: callback-state or tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Callback:
    def on_step(self, outputs):
        pass
class History(Callback):
    def __init__(self):
        self.history = []
    def on_step(self, outputs):
        self.history.append(outputs.mean().item() if a.fix else outputs)  # here
class Trainer:
    def __init__(self, callbacks):
        self.callbacks = callbacks
    def fit(self):
        for i in range(1, a.steps + 1):
            out = torch.randn(64, 512)
            for c in self.callbacks:
                c.on_step(out)
            print("step", i, flush=True)
trainer = Trainer([Callback(), History()])
trainer.fit()
