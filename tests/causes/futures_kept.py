# Results of a thread pool are kept with their futures.
# verdict: leak
# holder: futures
# cause: tensor-clones or growing-container
import argparse, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(2)
futures = []
for i in range(1, a.steps + 1):
    f = pool.submit(torch.randn, 128, 128)
    f.result()
    if not a.fix:
        futures.append(f)  # here
    print("step", i, flush=True)
