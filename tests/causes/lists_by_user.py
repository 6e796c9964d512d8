# Of every user a list of scores: each is short, together they grow.
# verdict: leak
# holder: by_user or by_user[...]
# cause: growing-container
import argparse, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Metrics:
    def __init__(self): self.by_user = {u: [] for u in range(1500)}
    def log(self, user, value):
        h = self.by_user[user]
        h.append(value)  # here
        if a.fix and len(h) > 4: del h[0]
m = Metrics()
for i in range(1, a.steps + 1):
    for k in range(1000): m.log(random.randrange(1500), random.random())
    time.sleep(0.003); print("step", i, flush=True)
