# A large file is read through a map, page by page.
# verdict: no leak
# pattern: page-cache
import argparse, numpy, tempfile, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
f = tempfile.TemporaryFile()
f.truncate(96 << 20)
data = numpy.memmap(f, dtype=numpy.uint8, mode="r")
width = len(data) // a.steps
for i in range(1, a.steps + 1):
    int(data[(0 if a.fix else i - 1) * width:][:width].sum())
    time.sleep(0.001); print("step", i, flush=True)
