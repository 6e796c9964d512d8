# A history that is a list itself.
# verdict: leak
# holder: trainer.logger.history
# cause: tensor-clones or growing-container
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class History(list):
    def record(self, *values):
        self.extend(values)
        if a.fix: del self[:-10]
class Logger:
    def __init__(self): self.history = History()
class Trainer:
    def __init__(self): self.logger = Logger()
    def step(self): self.logger.history.record(*(torch.randn(100, 100) for _ in range(3)))  # here
trainer = Trainer()
for i in range(1, a.steps + 1):
    trainer.step(); time.sleep(0.003); print("step", i, flush=True)
