# A deque without a bound, filled by a thread.
# verdict: leak
# holder: window
# cause: sample-cache or growing-container
import argparse, numpy, threading, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
from collections import deque
class Prefetcher(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.go = threading.Semaphore(0); self.done = threading.Semaphore(0)
        self.window = deque(maxlen=4) if a.fix else deque()
    def run(self):
        while True:
            self.go.acquire()
            self.window.append(numpy.random.rand(64, 128))  # here
            self.done.release()
prefetcher = Prefetcher(); prefetcher.start()
for i in range(1, a.steps + 1):
    prefetcher.go.release(); prefetcher.done.acquire()
    time.sleep(0.001); print("step", i, flush=True)
