# Only the best are kept, on a heap.
# verdict: no leak
# pattern: warm-up or bounded-cache or flat
import argparse, heapq, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
best = []
for i in range(1, a.steps + 1):
    heapq.heappush(best, (random.random(), i, bytearray(100000)))
    if len(best) > (5 if a.fix else 60):
        heapq.heappop(best)
    time.sleep(0.001); print("step", i, flush=True)
