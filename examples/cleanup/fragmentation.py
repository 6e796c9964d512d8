#!/usr/bin/env python3
"""A job whose batches are all of different lengths: freed memory has holes that do not fit.

What a long batch has freed is cut up by small results that are kept for a while, so the allocator
asks for more instead of giving anything back: the heap of the process on the CPU, torch's cache on
a GPU. Here cleanup may give back what nothing uses.

    tidemark tradeoff -- python fragmentation.py --device cuda
"""

import argparse
import collections
import random

import torch

BATCH, VOCABULARY = 16, 1000
KEPT = 64  # results of the last steps


def train(steps, device):
    torch.manual_seed(0)
    lengths = random.Random(0)
    width = 64 if device == "cpu" else 4096
    model = torch.nn.Sequential(
        torch.nn.Embedding(VOCABULARY, width), torch.nn.Linear(width, width), torch.nn.ReLU(),
        torch.nn.Linear(width, width)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    kept = collections.deque(maxlen=KEPT)
    for _ in range(steps):
        length = int(16 * 2 ** lengths.uniform(0, 5))  # 16 to 512, most of them short
        tokens = torch.randint(VOCABULARY, (BATCH, length), device=device)
        states = model(tokens)
        loss = states.pow(2).mean()
        loss.backward()
        kept.append(states.detach()[:, ::8].clone())
        optimizer.step()
        optimizer.zero_grad()
    print("loss %.4f" % loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    train(options.steps, options.device)


if __name__ == "__main__":
    main()
