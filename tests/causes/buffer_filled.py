# A replay buffer as large as it will ever be from the beginning: its pages come as it is filled.
# verdict: no leak
# pattern: bounded-cache
import argparse

import numpy
import torch

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true")
a = p.parse_args()


class Buffer:
    def __init__(self, size):
        self.frames = numpy.zeros((size, 3, 96, 96), dtype=numpy.uint8)
        self.rewards = numpy.zeros(size)
        self.at = 0

    def add(self, frame, reward):
        self.frames[self.at], self.rewards[self.at] = frame, reward
        self.at = (self.at + 1) % len(self.frames)


buffer = Buffer(16 if a.fix else 5000)
policy = torch.nn.Linear(96, 8)
optimizer = torch.optim.Adam(policy.parameters())
for i in range(1, a.steps + 1):
    buffer.add(numpy.full((3, 96, 96), i % 256, dtype=numpy.uint8), 1.0)
    loss = policy(torch.randn(64, 96)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", i, flush=True)
