#!/usr/bin/env python3
"""A small training that knows nothing of tidemark; with --leak it keeps every loss tensor.

    tidemark run -- python3 examples/train.py [--leak] [--steps 800]

The two differ in one expression: what loss_history is given.
"""

import argparse
import time

import torch
from torch import nn


def train(leak, steps):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_history = []
    for _ in range(steps):
        inputs = torch.randn(32, 64)
        loss = (model(inputs) - inputs.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_history.append(loss if leak else loss.item())
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leak", action="store_true")
    parser.add_argument("--steps", type=int, default=800)
    options = parser.parse_args()
    train(options.leak, options.steps)


if __name__ == "__main__":
    main()
