#!/usr/bin/env python3
"""A job that leaves nothing behind: every step takes the same memory and gives it back.

No cycles, small batches of one size, gradients that stay where they are: what is freed is used
again by the next step. Here cleanup can only cost time.

    tidemark tradeoff -- python nothing.py --device cuda
"""

import argparse

import torch

CPU, GPU = (512, 64), (8192, 1024)  # width of a layer, examples of a batch


def train(steps, device):
    torch.manual_seed(0)
    width, batch = CPU if device == "cpu" else GPU
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width),
        torch.nn.ReLU(), torch.nn.Linear(width, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        inputs = torch.randn(batch, width, device=device)
        targets = torch.randint(10, (batch,), device=device)
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
    print("loss %.4f" % loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    train(options.steps, options.device)


if __name__ == "__main__":
    main()
