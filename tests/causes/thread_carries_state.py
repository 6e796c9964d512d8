# A thread carries a state that is not detached.
# verdict: leak
# holder: state or h
# cause: retained-graph
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
import threading, queue
class Actor(threading.Thread):
    def __init__(self): super().__init__(daemon=True); self.q = queue.Queue(2); self.cell = nn.GRUCell(32, 96); self.state = torch.zeros(16, 96); self.start()
    def run(self):
        while True:
            x = self.q.get()
            self.state = self.cell(x, self.state.detach() if a.fix else self.state)  # here
actor = Actor(); net = nn.Linear(32, 32); opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(1, a.steps + 1):
    out = net(torch.randn(16, 32)); loss = out.pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    actor.q.put(out.detach())
    time.sleep(0.004); print("step", i, flush=True)
