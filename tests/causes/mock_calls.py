# A mock stands for the writer of a log and remembers every call, in several lists that share it.
# verdict: leak
# holder: writer.method_calls
# cause: tensor-clones
import argparse, time, torch
from unittest.mock import MagicMock
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true"); a = p.parse_args()
writer = MagicMock()
for i in range(1, a.steps + 1):
    writer.add_histogram("inputs", torch.randn(32, 64), i)  # here
    if a.fix: writer.reset_mock()
    time.sleep(0.003); print("step", i, flush=True)
