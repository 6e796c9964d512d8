# Every round makes a pool of threads, and the one before is kept.
# verdict: leak
# holder: pools
# cause: threads-piling-up or growing-container
import argparse, time
from concurrent.futures import ThreadPoolExecutor
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Loader:
    def __init__(self):
        self.pools = []
    def round(self, n):
        pool = ThreadPoolExecutor(2)
        list(pool.map(abs, range(n)))
        if a.fix:
            pool.shutdown()
        else:
            self.pools.append(pool)  # here
loader = Loader()
for i in range(1, a.steps + 1):
    loader.round(64)
    time.sleep(0.004); print("step", i, flush=True)
