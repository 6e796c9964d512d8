"""What is asked of torch, where the program has imported it. Nothing here imports it."""

import os
import sys

from tidemark._cleanup import came_by_signal


def _torch():
    return sys.modules.get("torch")


# ---- how a loss is read: the numbers are those of enum reading in core.h ----

READING_FLOAT, READING_ITEM, READING_TENSOR, READING_RARELY = range(4)


def is_tensor(value):
    kind = getattr(_torch(), "Tensor", None)
    return kind is not None and isinstance(value, kind)


def without_graph(loss):
    """torch warns of a number that is taken from a tensor with one."""
    return loss.detach() if is_tensor(loss) else loss


def reading_of(loss):
    """TypeError: it can be no loss, whatever its value."""
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
    """The loss on its way from a GPU: one value at a time, copied behind the work that makes it.

    The copy goes to pinned memory that holds a value no loss has: when that is gone, the loss has
    arrived. Nothing here waits for the device but wait(), and no tensor of the program is kept.
    """

    def __init__(self):
        self._for = self._buffer = self._nothing = None
        self._under_way = False

    def exchange(self, loss):
        """Sends for this loss; the value of an earlier one, None where none has arrived."""
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
        """The value that is under way; None: there is none."""
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


# ---- the moment ----


def is_device_name(text):
    """None: torch is not there to be asked."""
    device = getattr(_torch(), "device", None)
    if device is None:
        return None
    try:
        device(text)
    except RuntimeError:
        return False
    return True


def vram_bytes(device):
    """What torch has allocated there, and what its allocator has taken; None: it uses no CUDA.

    torch.cuda.memory_allocated() sorts two hundred numbers by their names to tell one of them.
    """
    cuda = getattr(_torch(), "cuda", None)
    try:
        if not (cuda and cuda.is_initialized()):
            return None, None
        stats = cuda.memory_stats_as_nested_dict(device)
        return (stats["allocated_bytes"]["all"]["current"], stats["reserved_bytes"]["all"]["current"])
    except Exception as error:  # a device that is none of CUDA's, or not there
        if came_by_signal(error):
            raise
        return None, None


def rank():
    """Of this process in a distributed training; None: it is alone."""
    try:
        return int(os.environ["RANK"])
    except (KeyError, ValueError):
        pass
    distributed = getattr(_torch(), "distributed", None)
    try:
        return distributed.get_rank() if distributed.is_initialized() else None
    except Exception as error:  # torch without its distributed part
        if came_by_signal(error):
            raise
        return None


def is_one_of_several():
    """Whether other ranks record too."""
    return rank() is not None and os.environ.get("WORLD_SIZE") != "1"
