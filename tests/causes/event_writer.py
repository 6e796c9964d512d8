# A writer of events that is never flushed.
# verdict: leak
# holder: writer.file_writer._pending
# cause: tensor-clones or growing-container or staged-checkpoints
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Event:
    __slots__ = ("tag", "step", "value")
    def __init__(self, tag, step, value):
        self.tag, self.step, self.value = tag, step, value
class EventFile:
    def __init__(self):
        self._pending = []
    def add(self, event):
        self._pending.append(event)  # here
    def flush(self):
        self._pending.clear()
class Writer:
    def __init__(self):
        self.file_writer = EventFile()
    def add_histogram(self, tag, values, step):
        self.file_writer.add(Event(tag, step, values))
def fit():
    writer = Writer(); net = torch.nn.Linear(256, 64)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for i in range(1, a.steps + 1):
        loss = net(torch.randn(16, 256)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        writer.add_histogram("weight", net.weight.detach().clone(), i)
        if a.fix:
            writer.file_writer.flush()
        time.sleep(0.001); print("step", i, flush=True)
fit()
