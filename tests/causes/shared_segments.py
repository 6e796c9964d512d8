# Segments of shared memory that nobody unlinks.
# verdict: leak
# holder: segments
# cause: shared-memory-segments or growing-container
import argparse, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from multiprocessing import shared_memory
segments = []
try:
    for i in range(1, a.steps + 1):
        s = shared_memory.SharedMemory(create=True, size=65536)
        s.buf[:] = bytes(65536)
        if a.fix:
            s.close(); s.unlink()
        else:
            segments.append(s)  # here
        time.sleep(0.001); print("step", i, flush=True)
finally:
    for s in segments:
        s.close(); s.unlink()
