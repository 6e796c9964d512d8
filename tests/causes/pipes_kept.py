# Processes that have ended, and whose pipes are kept.
# verdict: leak
# holder: pool
# cause: files-and-descriptors or growing-container
import argparse, os, resource, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
pool = []
for i in range(1, a.steps + 1):
    r, w = os.pipe()
    if a.fix:
        os.close(r); os.close(w)
    else:
        pool.append((os.fdopen(r, "rb"), os.fdopen(w, "wb")))  # here
    if i % 400 == 0:
        pool.clear() if a.fix else None
    time.sleep(0.001); print("step", i, flush=True)
