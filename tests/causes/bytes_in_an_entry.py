# The raw log of a run is one bytes object in a dict, and is made longer at every step.
# verdict: leak
# holder: state['raw'] or raw
# cause: growing-object
import argparse, os, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Recorder:
    def __init__(self):
        self.state = {"raw": b"", "count": 0}
    def write(self, chunk):
        self.state["count"] += 1
        if a.fix:
            self.state["raw"] = chunk
        else:
            self.state["raw"] = self.state["raw"] + chunk  # here
recorder = Recorder()
for i in range(1, a.steps + 1):
    recorder.write(os.urandom(64 << 10))
    time.sleep(0.002); print("step", i, flush=True)
