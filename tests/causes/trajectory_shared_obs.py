# Transitions whose next state is the following one's state, kept without a bound among freed arrays.
# verdict: leak
# holder: memory
# cause: sample-cache or growing-container
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import numpy as np
from collections import namedtuple
Transition = namedtuple("Transition", "obs action reward next_obs done")
class Env:
    def reset(self): self.t = 0; return np.random.rand(4, 42, 42).astype(np.float32)
    def step(self, act): self.t += 1; return np.random.rand(4, 42, 42).astype(np.float32), 1.0, self.t >= 50
class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Flatten(), nn.Linear(4 * 42 * 42, 32), nn.ReLU(), nn.Linear(32, 4))
        self.opt = torch.optim.Adam(self.q.parameters()); self.memory = []
    def remember(self, *args):
        self.memory.append(Transition(*args))  # here
        if a.fix: self.memory = self.memory[-64:]
    def learn(self):
        batch = random.sample(self.memory, min(16, len(self.memory)))
        obs = torch.from_numpy(np.stack([b.obs for b in batch]))
        loss = (self.q(obs).max(1)[0] - torch.tensor([b.reward for b in batch])).pow(2).mean()
        self.opt.zero_grad(); loss.backward(); self.opt.step()
env = Env(); agent = Agent(); obs = env.reset()
for i in range(1, a.steps + 1):
    nxt, r, done = env.step(0)
    agent.remember(obs, 0, r, nxt, done)
    obs = env.reset() if done else nxt
    agent.learn()
    time.sleep(0.004); print("step %d" % i, flush=True)
