#!/usr/bin/env python3
"""Trains a small network whose memory has one of the shapes that people ask about.

    tidemark run -- python3 examples/shapes.py warm-up     # a cache fills during the first epoch
    tidemark run -- python3 examples/shapes.py spikes      # validation takes memory, gives it back
    tidemark run -- python3 examples/shapes.py workers     # loader processes: overhead that stays
    tidemark run -- python3 examples/shapes.py copies      # workers copy a list of Python objects
    tidemark run -- python3 examples/shapes.py leak        # predictions of every step are kept

docs/GUIDE.md shows what tidemark says of each.
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tidemark import Watcher

SIZE = 256  # numbers of an example
BATCH = 16
CACHED_BYTES = 48 << 10  # of an example, once it is decoded
VALIDATION_BYTES = 120 << 20
RECORDS = 400_000  # of the list that workers copy


class Examples(Dataset):
    """Noise with a direction in it. With a cache, each example is decoded once and kept."""

    def __init__(self, count, cached=False):
        random = torch.Generator().manual_seed(3)
        self.values = torch.randn(count, SIZE, generator=random)
        self.labels = (self.values[:, 0] > 0).long()
        self.cache = {} if cached else None

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if self.cache is not None and index not in self.cache:
            self.cache[index] = torch.ones(CACHED_BYTES, dtype=torch.uint8)
        return self.values[index], self.labels[index]


class Records(Examples):
    """What many datasets look like: one Python object an example, in a list."""

    def __init__(self, count):
        super().__init__(count)
        self.records = [{"file": f"image-{i:07}.png", "label": i % 2} for i in range(RECORDS)]

    def __getitem__(self, index):
        share = RECORDS // len(self)
        for record in self.records[index * share:(index + 1) * share]:  # each touch writes
            label = record["label"]
        return self.values[index], label


def validate(model):
    """All outputs at once: that is what makes it a spike."""
    with torch.no_grad():
        rows = VALIDATION_BYTES // (4 * SIZE)
        return model(torch.ones(rows, SIZE)).mean().item()


def loader_of(shape, count):
    examples = Records(count) if shape == "copies" else Examples(count, cached=shape == "warm-up")
    workers = 3 if shape in ("workers", "copies") else 0
    return DataLoader(examples, BATCH, shuffle=True, num_workers=workers,
                      persistent_workers=workers > 0)


def train(shape, epochs, steps):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU(), nn.Linear(SIZE, 2))
    optimizer = torch.optim.Adam(model.parameters())
    loader = loader_of(shape, steps * BATCH)
    predictions = []
    with Watcher(print_every=steps) as watcher:
        for _ in range(epochs):
            for values, labels in watcher.data(loader):
                output = model(values)
                loss = nn.functional.cross_entropy(output, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if shape == "leak":
                    predictions.append(output)  # with the graph behind it: output.detach()
                watcher.step(loss)
            if shape == "spikes":
                with watcher.phase("validate"):
                    validate(model)
            watcher.epoch_end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=["warm-up", "spikes", "workers", "copies", "leak"])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=150, help="of an epoch")
    options = parser.parse_args()
    train(options.shape, options.epochs, options.steps)


if __name__ == "__main__":
    main()
