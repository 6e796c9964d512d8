# The standard library's array of numbers, appended to.
# verdict: leak
# holder: token_losses
# cause: growing-object
import argparse, array, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
token_losses = array.array("d")
for i in range(1, a.steps + 1):
    token_losses.extend(array.array("d", [0.5] * 4096))  # here
    if a.fix: del token_losses[:]
    time.sleep(0.002); print("step", i, flush=True)
