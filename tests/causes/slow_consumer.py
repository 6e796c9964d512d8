# A thread that takes from a queue more slowly than the loop fills it.
# verdict: leak
# holder: q.queue
# cause: log-queue-backlog
import argparse, queue, threading, time, numpy as np
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Writer:
    def __init__(self):
        self.q = queue.Queue(maxsize=4 if a.fix else 0)
        threading.Thread(target=self.work, daemon=True).start()
    def work(self):
        while True:
            name, image = self.q.get(); time.sleep(0.012)
    def image(self, name, image):
        self.q.put((name, image))  # here
writer = Writer()
for i in range(1, a.steps + 1):
    time.sleep(0.005); writer.image("train/%d" % i, np.random.rand(120, 120))
    print("step", i, flush=True)
