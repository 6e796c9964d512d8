# Copies of the weights are handed to a thread that saves them, and kept with their futures.
# verdict: leak
# holder: pending
# cause: staged-checkpoints
import argparse, io, time, torch
from concurrent.futures import ThreadPoolExecutor
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Linear(512, 64))
saver, pending = ThreadPoolExecutor(1), []
def save(weights):
    torch.save(weights, io.BytesIO())
for i in range(1, a.steps + 1):
    model(torch.randn(4, 512)).sum().backward(); model.zero_grad()
    if i % 8 == 0:
        copy = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        pending.append((copy, saver.submit(save, copy)))  # here
        if a.fix: pending = [one for one in pending if not one[1].done()]
    time.sleep(0.002); print("step", i, flush=True)
