# Large lists are made and freed at every step.
# verdict: no leak
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
net = nn.Linear(16, 4); opt = torch.optim.SGD(net.parameters(), lr=0.01)
def tokenize(n): return [{"w": "word%d" % k, "id": k, "pos": [k, k + 1]} for k in range(n)]
for i in range(1, a.steps + 1):
    rows = tokenize(random.randrange(200, 3000) if not a.fix else 200)
    random.shuffle(rows)
    x = torch.tensor([r["id"] for r in rows[:16]], dtype=torch.float)
    opt.zero_grad(); net(x).pow(2).mean().backward(); opt.step(); del rows
    time.sleep(0.004); print("step", i, flush=True)
