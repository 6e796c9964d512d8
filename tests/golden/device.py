"""Keeps 256 KB of a device every step, where no Python object holds them: in the stand-in for torch,
whose blocks lie in memory that Python does not see (tests/standin)."""
import time

import torch
from torch import _blocks

KB = 1024


class Memory:
    def remember(self):
        _blocks.allocate(256 * KB)


def train(memory, optimizer):
    activations = _blocks.allocate(4096 * KB)
    memory.remember()
    _blocks.free(activations)
    optimizer.step()


torch.cuda._initialized = True
weights = [_blocks.allocate(1024 * KB) for _ in range(40)]
memory, optimizer = Memory(), torch.optim.SGD()
for step in range(1200):
    train(memory, optimizer)
    time.sleep(0.01)
