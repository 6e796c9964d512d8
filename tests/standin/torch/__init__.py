"""A stand-in for PyTorch's own import, steps, loaders and counters: for interpreters that have none.

STANDIN_TORCH=old is as before 2.0. Imports its parts one after the other, as torch does.
"""

import os

OLD = os.environ.get("STANDIN_TORCH") == "old"

from torch import _C
from torch.autograd import profiler
from torch import cuda, nn, optim
from torch.utils import data
from torch import last


def is_grad_enabled():
    return True
