# A text is made longer at every step.
# verdict: leak
# holder: log
# cause: growing-object
import argparse
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
log = ""
for i in range(1, a.steps + 1):
    line = "step %d: " % i + "gradient norm and more " * 2000
    log = line if a.fix else log + line  # here
    print("step", i, flush=True)
