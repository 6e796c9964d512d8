# Files are opened and kept open.
# verdict: leak
# holder: handles
# cause: files-and-descriptors or growing-container
import argparse, os
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
handles = []
for i in range(1, a.steps + 1):
    f = open(os.devnull)
    if a.fix:
        f.close()
    else:
        handles.append(f)  # here
    print("step", i, flush=True)
