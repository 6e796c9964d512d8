#!/usr/bin/env python3
"""A job whose steps leave reference cycles: only the garbage collector can free what they hold.

Every step keeps its activations in a record that knows its hook, and the hook knows the record.
The collector is told to run rarely, as many jobs do for speed, so the activations of hundreds of
steps pile up: here cleanup has something to free.

    tidemark tradeoff -- python cycles.py --device cuda
"""

import argparse
import gc

import torch

CPU, GPU = (256, 128), (8192, 512)  # width of a layer, examples of a batch


class StepRecord:
    """What a step wants to remember of a layer; it asks for it with a hook of its own."""

    def __init__(self, layer):
        self.activations = []
        self.hook = lambda module, inputs, output: self.activations.append(output.detach().clone())
        self.handle = layer.register_forward_hook(self.hook)

    def close(self):
        self.handle.remove()


def train(steps, device):
    torch.manual_seed(0)
    width, batch = CPU if device == "cpu" else GPU
    layers = [torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        inputs = torch.randn(batch, width, device=device)
        targets = torch.randint(10, (batch,), device=device)
        record = StepRecord(layers[0])
        for _ in range(4):  # gradients of four parts of a batch are added up
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
        record.close()
        optimizer.step()
        optimizer.zero_grad()
    print("loss %.4f" % loss.item())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    gc.set_threshold(100_000, 50, 50)
    train(options.steps, options.device)


if __name__ == "__main__":
    main()
