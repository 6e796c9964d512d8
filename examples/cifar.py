#!/usr/bin/env python3
"""Trains a small CNN on images of CIFAR's shape; with --leak it keeps every loss it has computed.

    tidemark run -- python3 examples/cifar.py [--leak] [--epochs 3] [--images 50000]

The model has 545,098 parameters, a batch 64 images, an epoch 782 steps. The images are made up,
with ten classes that can be learnt. The only difference between the two is what loss_history is
given.
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tidemark import Watcher


class Pictures(Dataset):
    """Ten patterns, each picture one of them under noise; one label in five says nothing."""

    def __init__(self, count, seed=7):
        random = torch.Generator().manual_seed(seed)
        patterns = torch.randint(116, 141, (10, 3, 8, 8), generator=random)
        patterns = patterns.repeat_interleave(4, 2).repeat_interleave(4, 3)
        truth = torch.randint(0, 10, (count,), generator=random)
        guess = torch.randint(0, 10, (count,), generator=random)
        self.labels = torch.where(torch.rand(count, generator=random) < 0.2, guess, truth)
        self.pixels = torch.empty((count, 3, 32, 32), dtype=torch.uint8)
        for i in range(0, count, 1000):
            shown = patterns[truth[i:i + 1000]]
            noise = torch.randint(-110, 111, shown.shape, generator=random)
            self.pixels[i:i + 1000] = (shown + noise).to(torch.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pixels[index].float() / 255 - 0.5, self.labels[index]


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


def device_name(device):
    return torch.cuda.get_device_name(0) if device == "cuda" else "CPU"


def train(leak, epochs, images, device):
    torch.manual_seed(0)
    model = SmallCNN().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(Pictures(images), batch_size=64, shuffle=True)
    watcher = Watcher(print_every=100, show_gpu=True, warn_on_leak=True,
                      warn_on_bottleneck=False, warn_on_variance=False)
    loss_history = []
    for _ in range(epochs):
        for pictures, labels in loader:
            loss = criterion(model(pictures.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_history.append(loss if leak else loss.item())  # the leak: a tensor and its graph
            watcher.step(loss=loss.item())
        watcher.epoch_end()
    watcher.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--leak", action="store_true", help="keep every loss tensor")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=50000)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parameters = sum(p.numel() for p in SmallCNN().parameters())
    print("Device: %s (%s), PyTorch %s, %s parameters" % (
        device, device_name(device), torch.__version__, format(parameters, ",")), flush=True)
    train(args.leak, args.epochs, args.images, device)


if __name__ == "__main__":
    main()
