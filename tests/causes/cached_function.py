# Results of a function, by the path it was called with.
# verdict: leak
# holder: load
# cause: lru-cache
import argparse, functools, numpy, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
@functools.lru_cache(maxsize=16 if a.fix else None)  # here
def load(path):
    return numpy.zeros((64, 128))
for i in range(1, a.steps + 1):
    load("shard-%05d" % i).sum()
    time.sleep(0.001); print("step", i, flush=True)
