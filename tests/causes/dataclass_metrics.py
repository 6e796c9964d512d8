# A dataclass gathers the outputs of every batch.
# verdict: leak
# holder: metrics.outputs
# cause: tensor-clones
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from dataclasses import dataclass, field
@dataclass
class Metrics:
    outputs: list = field(default_factory=list)
    seen: int = 0
    def update(self, out):
        self.seen += 1
        if not a.fix:
            self.outputs.append(out)  # here
def validate():
    metrics = Metrics()
    net = torch.nn.Linear(128, 512)
    for i in range(1, a.steps + 1):
        with torch.no_grad():
            metrics.update(net(torch.randn(32, 128)))
        time.sleep(0.001); print("step", i, flush=True)
validate()
