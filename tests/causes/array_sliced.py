# Features are joined and cut to a bound that is never reached: what is kept is a view.
# verdict: leak
# holder: bank.features
# cause: growing-object
import argparse, time, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Bank:
    def __init__(self): self.features, self.most = np.empty((0, 128)), 256 if a.fix else 10**6
    def add(self, x):
        self.features = np.concatenate([self.features, x])[-self.most:]  # here
bank = Bank()
for i in range(1, a.steps + 1):
    bank.add(np.random.rand(16, 128))
    time.sleep(0.003); print("step", i, flush=True)
