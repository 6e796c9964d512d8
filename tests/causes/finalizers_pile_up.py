# Every batch has a finalizer, and lives as long as the trainer does.
# verdict: leak
# holder: _registry
# cause: growing-container
import argparse, time, weakref
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Trainer:
    pass
def release(rows):
    rows.clear()
def watch(trainer, rows):
    finalizer = weakref.finalize(trainer, release, rows)  # here
    if a.fix:
        finalizer()
trainer = Trainer()
for i in range(1, a.steps + 1):
    watch(trainer, [i + k / 7 for k in range(2000)])
    time.sleep(0.002); print("step", i, flush=True)
