from .dataloader import DataLoader
from . import distributed
