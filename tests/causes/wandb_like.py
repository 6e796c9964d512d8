# What a run logs waits to be uploaded.
# verdict: leak
# holder: run.backlog["media"]
# cause: log-queue-backlog or sample-cache
import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
class Run:
    def __init__(self):
        self.backlog = {"media": [], "scalars": []}
    def log(self, data):
        for key, value in data.items():
            kind = "scalars" if isinstance(value, float) else "media"
            self.backlog[kind].append((key, value))  # here
def main():
    run = Run()
    for i in range(1, a.steps + 1):
        picture = torch.rand(3, 64, 64)
        run.log({"loss": 1.0 / i})
        if not a.fix:
            run.log({"picture": picture.numpy()})
        time.sleep(0.001); print("step", i, flush=True)
main()
