# A tracer keeps spans that refer to each other.
# verdict: leak
# holder: spans or roots
# cause: growing-container
import argparse, random, time, torch
from torch import nn
import torch.nn.functional as F
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
torch.manual_seed(0); random.seed(0)
from dataclasses import dataclass, field
from typing import List, Dict
@dataclass
class Event:
    name: str
    when: float
    attributes: Dict[str, float] = field(default_factory=dict)
@dataclass
class Span:
    name: str
    events: List[Event] = field(default_factory=list)
    children: List["Span"] = field(default_factory=list)
class Tracer:
    def __init__(self): self.spans = []; self.current = None
    def begin(self, name):
        self.current = Span(name)
        self.spans.append(self.current)  # here
        if a.fix and len(self.spans) > 8: self.spans.pop(0)
    def child(self, name):
        s = Span(name); self.current.children.append(s); return s
tracer = Tracer()
net = nn.Sequential(*[nn.Linear(32, 32) for _ in range(6)]); opt = torch.optim.Adam(net.parameters())
for i in range(1, a.steps + 1):
    tracer.begin("step %d" % i)
    x = torch.randn(16, 32)
    for k, layer in enumerate(net):
        s = tracer.child("layer%d" % k)
        x = layer(x)
        for j in range(8):
            s.events.append(Event("e%d.%d" % (k, j), time.time(), {"mean": x.mean().item(), "std": x.std().item()}))
    opt.zero_grad(); x.pow(2).mean().backward(); opt.step()
    time.sleep(0.004); print("step", i, flush=True)
