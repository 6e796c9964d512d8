# A logging handler keeps records for a target that it does not have.
# verdict: leak
# holder: buffer
# cause: log-queue-backlog
import argparse, logging, logging.handlers
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
handler = logging.handlers.MemoryHandler(10 if a.fix else 10**9, flushLevel=100, target=logging.NullHandler())
log = logging.getLogger("train")
log.setLevel(logging.INFO)
log.addHandler(handler)
log.propagate = False
for i in range(1, a.steps + 1):
    for k in range(20):
        log.info("batch %d: %s", i, "x" * 2000 + str(k))
    print("step", i, flush=True)
