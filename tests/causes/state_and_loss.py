# States of a recurrent net, a row for each stream, are not detached; each loss is made of one.
# verdict: leak
# holder: streams.states
# cause: retained-graph
import argparse

import torch

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=600)
p.add_argument("--fix", action="store_true")
a = p.parse_args()
cell = torch.nn.LSTMCell(32, 64)
head = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))


class Streams:
    def __init__(self, count):
        self.states = [(torch.zeros(8, 64), torch.zeros(8, 64)) for _ in range(count)]

    def advance(self, i, x):
        state = cell(x, self.states[i])
        self.states[i] = tuple(s.detach() for s in state) if a.fix else state  # here
        return state[0]


streams = Streams(3)
for i in range(1, a.steps + 1):
    loss = head(streams.advance(i % 3, torch.randn(8, 32))).pow(2).mean()
    print("step", i, flush=True)
