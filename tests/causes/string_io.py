# A log is written into a StringIO that nobody empties.
# verdict: leak
# holder: log
# cause: growing-object
import argparse, io, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
log = io.StringIO()
for i in range(1, a.steps + 1):
    log.write("step %d: " % i + "gradient norm and more " * 2000)  # here
    if a.fix: log.seek(0); log.truncate()
    time.sleep(0.002); print("step", i, flush=True)
