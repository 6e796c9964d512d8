# A thread gathers in a local variable.
# verdict: leak
# holder: answers
# cause: tensor-clones
import argparse, queue, threading, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
requests = queue.Queue(2)
def serve():
    answers = {}
    for n in iter(requests.get, None):
        if not a.fix:
            answers[n] = torch.full((96, 96), float(n))  # here
        requests.task_done()
threading.Thread(target=serve, daemon=True).start()
for i in range(1, a.steps + 1):
    requests.put(i); requests.join()
    time.sleep(0.001); print("step", i, flush=True)
