# Steps told as lines of JSON, whose numbers have as many digits as they happen to have.
# verdict: leak
# holder: seen
# cause: growing-container
import argparse, json, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
seen = []
for i in range(1, a.steps + 1):
    seen.append(bytes([i % 256]) * 30000)  # here
    if a.fix: del seen[:-8]
    rate = random.choice([0.001, 3.0517578125e-05, 1e-4])
    time.sleep(0.002); print(json.dumps({"step": i, "loss": random.random(), "lr": rate}), flush=True)
