# Each step's predictions are kept as a list of 20,000 floats.
# verdict: leak
# holder: preds
# cause: growing-container
import argparse, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
def evaluate(steps):
    preds = []
    for i in range(1, steps + 1):
        preds.append([random.random() for _ in range(20000)])  # here
        if a.fix: del preds[:-8]
        time.sleep(0.002); print("step", i, flush=True)
evaluate(a.steps // 2)
