from .dataloader import DataLoader, IterableDataset
from . import distributed
