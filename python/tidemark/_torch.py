"""Everything that needs torch, if the program has imported it. Nothing here imports it."""

import os
import sys

from tidemark._cleanup import came_by_signal


def _torch():
    return sys.modules.get("torch")


# ---- reading a loss: the numbers are those of enum reading in core.h ----

READING_FLOAT, READING_ITEM, READING_TENSOR, READING_RARELY = range(4)


def is_tensor(value):
    kind = getattr(_torch(), "Tensor", None)
    return kind is not None and isinstance(value, kind)


def without_graph(loss):
    """torch warns when a number is taken from a tensor that has a graph."""
    return loss.detach() if is_tensor(loss) else loss


def reading_of(loss):
    """TypeError: this can never be a loss."""
    if is_tensor(loss):
        return READING_TENSOR if hasattr(loss, "is_cpu") else READING_RARELY
    if type(loss).__module__.partition(".")[0] == "numpy" and hasattr(loss, "item"):
        return READING_ITEM
    if hasattr(loss, "item"):
        return READING_RARELY
    if loss is None or hasattr(loss, "__float__"):
        return READING_FLOAT
    raise TypeError(
        f"step() takes the loss of this step, a number or a tensor of one value, not a "
        f"{type(loss).__name__}: pass the loss itself, or loss.item()")


class LossOnDevice:
    """A loss on its way from a GPU: one value at a time, copied after the work that computes it.

    The copy goes to pinned memory that holds a value no loss has. Once that value is gone, the loss
    has arrived. Only wait() waits for the device, and no tensor of the program is kept alive.
    """

    def __init__(self):
        self._for = self._buffer = self._nothing = None
        self._under_way = False

    def exchange(self, loss):
        """Requests this loss; returns an earlier one, or None if none has arrived."""
        if not loss.is_cuda:
            return loss.item()
        value = self.arrived()
        if not self._under_way:
            self._send(loss.detach() if loss.dim() < 2 else loss.detach().reshape(1))
        return value

    def arrived(self):
        if not self._under_way:
            return None
        value = self._buffer.item()
        if value == self._nothing:
            return None
        self._under_way = False
        return value

    def wait(self):
        """Waits for the value on its way; None: there is none."""
        if not self._under_way:
            return None
        _torch().cuda.synchronize(self._for[1])
        return self.arrived()

    def _send(self, loss):
        torch = _torch()
        if self._for != (loss.dtype, loss.device):
            self._buffer = torch.empty(1, dtype=loss.dtype, pin_memory=True)
            self._nothing = torch.finfo(loss.dtype).min
            self._for = (loss.dtype, loss.device)
        self._buffer.fill_(self._nothing)
        self._buffer.copy_(loss, non_blocking=True)
        self._under_way = True


# ---- state ----


def is_device_name(text):
    """None: torch is not imported."""
    device = getattr(_torch(), "device", None)
    if device is None:
        return None
    try:
        device(text)
    except RuntimeError:
        return False
    return True


def vram_bytes(device):
    """Allocated and reserved bytes of torch on that device; None: torch does not use CUDA.

    torch.cuda.memory_allocated() would sort two hundred numbers by name to return one.
    """
    cuda = getattr(_torch(), "cuda", None)
    try:
        if not (cuda and cuda.is_initialized()):
            return None, None
        stats = cuda.memory_stats_as_nested_dict(device)
        return (stats["allocated_bytes"]["all"]["current"], stats["reserved_bytes"]["all"]["current"])
    except Exception as error:  # not a CUDA device, or it does not exist
        if came_by_signal(error):
            raise
        return None, None


def rank():
    """This process's rank in a distributed training; None: not distributed."""
    try:
        return int(os.environ["RANK"])
    except (KeyError, ValueError):
        pass
    distributed = getattr(_torch(), "distributed", None)
    try:
        return distributed.get_rank() if distributed.is_initialized() else None
    except Exception as error:  # torch built without distributed
        if came_by_signal(error):
            raise
        return None


def is_one_of_several():
    """Whether other ranks record too."""
    return rank() is not None and os.environ.get("WORLD_SIZE") != "1"
