# A function keeps what it was called with.
# verdict: leak
# holder: lines
# cause: closure or growing-container
import argparse, os, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def make_logger():
    lines = []
    def log(payload):
        if not a.fix:
            lines.append(payload)  # here
        return len(lines)
    return log
log = make_logger()
for i in range(1, a.steps + 1):
    log(os.urandom(30000))
    time.sleep(0.001); print("step", i, flush=True)
