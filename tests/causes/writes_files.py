# A file is written, and its pages stay in memory.
# verdict: no leak
# pattern: flat
import argparse, os, tempfile
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
out = tempfile.TemporaryFile()
for i in range(1, a.steps + 1):
    if not a.fix:
        out.write(os.urandom(65536)); out.flush()
    print("step", i, flush=True)
