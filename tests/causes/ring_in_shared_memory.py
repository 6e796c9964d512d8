# Frames go into one shared segment that has its size from the beginning: its pages come one by one.
# verdict: no leak
# pattern: bounded-cache
import argparse
import time
from multiprocessing import shared_memory

import numpy

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true")
a = p.parse_args()
FRAME = 48 << 10
count = 4 if a.fix else 2 * a.steps
segment = shared_memory.SharedMemory(create=True, size=count * FRAME)
frames = numpy.ndarray((count, FRAME), dtype=numpy.uint8, buffer=segment.buf)
for i in range(1, a.steps + 1):
    frames[i % count] = i % 256
    time.sleep(0.004)
    print("step", i, flush=True)
del frames
segment.close()
segment.unlink()
