# Ever more small objects at once, of which one stays: Python keeps its arenas, and what is free there.
# verdict: no leak
# pattern: allocator-retention
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
kept = []
for i in range(1, a.steps + 1):
    texts = [str(n) * 60 for n in range(200 if a.fix else 200 * i)]
    if not a.fix:
        kept.append(texts[-1])
    del texts
    time.sleep(0.01); print("step", i, flush=True)
