# A replay buffer of arrays that were allocated before is filled.
# verdict: no leak
# pattern: bounded-cache
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import numpy as np
class Replay:
    def __init__(self, n):
        self.obs = np.zeros((n, 4, 32, 32), np.float32); self.next_obs = np.zeros((n, 4, 32, 32), np.float32)
        self.act = np.zeros(n, np.int64); self.rew = np.zeros(n, np.float32); self.at = 0; self.n = n
    def add(self, o, n, r):
        k = self.at % self.n; self.obs[k], self.next_obs[k], self.rew[k] = o, n, r; self.at += 1
buf = Replay(20 if a.fix else 5000); net = nn.Linear(4 * 32 * 32, 4); opt = torch.optim.Adam(net.parameters())
for i in range(1, a.steps + 1):
    for _ in range(4): buf.add(np.random.rand(4, 32, 32), np.random.rand(4, 32, 32), 1.0)
    idx = np.random.randint(0, min(buf.at, buf.n), 16)
    loss = net(torch.from_numpy(buf.obs[idx]).flatten(1)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
