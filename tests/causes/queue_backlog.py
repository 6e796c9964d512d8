# Nobody takes what is put into a queue.
# verdict: leak
# holder: events
# cause: log-queue-backlog
import argparse, queue
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
events = queue.Queue()
for i in range(1, a.steps + 1):
    events.put({"step": i, "histogram": bytes(60000 + i)})
    if a.fix:
        events.get()
    print("step", i, flush=True)
