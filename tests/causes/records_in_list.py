# Every batch adds a list of records: dicts with texts, numbers and a list of tags.
# verdict: leak
# holder: logger.records
# cause: growing-container or callback-state
import argparse, random, time
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Logger:
    def __init__(self): self.records = []
    def on_batch(self, step):
        batch = [{"id": "sample-%d-%d" % (step, k), "score": random.random(),
                  "tags": [random.random() for _ in range(8)],
                  "box": {"x": random.random(), "y": random.random()}} for k in range(300)]
        self.records.append(batch)  # here
        if a.fix: del self.records[:-8]
def main():
    logger = Logger()
    for i in range(1, a.steps + 1):
        logger.on_batch(i)
        time.sleep(0.002); print("step", i, flush=True)
main()
