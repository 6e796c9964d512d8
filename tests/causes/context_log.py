# A log that a ContextVar has: no variable of any function, and no global, is the list itself.
# verdict: leak
# holder: run_log
# cause: growing-container or tensor-clones
import argparse, contextvars, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
run_log = contextvars.ContextVar("run_log")
run_log.set([])
def record(value):
    if a.fix and len(run_log.get()) > 20: run_log.set([])
    run_log.get().append(value)
def train():
    for i in range(1, a.steps + 1):
        for k in range(4): record({"step": i, "payload": bytes(8192)})
        time.sleep(0.004); print("step", i, flush=True)
contextvars.copy_context().run(train)
