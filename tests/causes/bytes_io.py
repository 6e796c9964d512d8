# A file in memory that every step is written to.
# verdict: leak
# holder: recorder.out
# cause: growing-object
import argparse, io, time, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Recorder:
    def __init__(self): self.out, self.frames = io.BytesIO(), 0
    def add(self, frame):
        self.out.write(frame.tobytes()); self.frames += 1  # here
        if a.fix: self.out = io.BytesIO()
recorder = Recorder(); rng = np.random.default_rng(0)
for i in range(1, a.steps + 1):
    recorder.add(rng.integers(0, 255, (128, 128, 3), dtype=np.uint8))
    time.sleep(0.002)
    print("step", i, "frames", recorder.frames, flush=True)
