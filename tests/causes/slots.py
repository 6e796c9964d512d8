# An attribute of an instance with slots.
# verdict: leak
# holder: recorder.frames
# cause: tensor-clones
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Recorder:
    __slots__ = ("frames",)
    def __init__(self):
        self.frames = []
recorder = Recorder()
for i in range(1, a.steps + 1):
    recorder.frames.append(torch.randn(3, 96, 96))  # here
    if a.fix:
        recorder.frames.clear()
    print("step", i, flush=True)
