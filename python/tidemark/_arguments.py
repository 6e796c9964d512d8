"""Checks the arguments of Watcher(), so that a mistake shows at the first line."""

import math
import operator
import os
import re

from tidemark import _torch

# torch's device types, for a program that has not imported torch.
DEVICE_TYPES = frozenset((
    "cpu", "cuda", "fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "meta", "mkldnn", "mps",
    "mtia", "opencl", "opengl", "ort", "privateuseone", "ve", "vulkan", "xla", "xpu"))
DEVICE = re.compile(r"([a-z_]+)(:\d+)?")


def _error(kind, name, value, wanted):
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return kind(f"Watcher() needs {name}= {wanted}, not {shown}")


def whole(name, value, least):
    """As an int."""
    wanted = f"a whole number, {least} or more"
    try:
        number = operator.index(value)
    except TypeError:
        raise _error(TypeError, name, value, wanted) from None
    if number < least:
        raise _error(ValueError, name, value, wanted)
    return number


def _real(name, value, wanted):
    if isinstance(value, (str, bytes)):
        raise _error(TypeError, name, value, wanted)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _error(TypeError, name, value, wanted) from None


def steps(name, value):
    """A number of steps; None becomes 0, unknown."""
    wanted = "a number of steps above 0, or None"
    if value is None:
        return 0.0
    number = _real(name, value, wanted)
    if not (number > 0 and math.isfinite(number)):
        raise _error(ValueError, name, value, wanted)
    return number


def megabytes(name, value):
    wanted = "a number of MB, 0 or more, or None"
    if value is not None and not _real(name, value, wanted) >= 0:
        raise _error(ValueError, name, value, wanted)
    return value


def run_file(value):
    """A path as str, True, or None."""
    wanted = "a path, True (to choose a name) or None"
    if value is None or value is False or value is True:
        return value or None
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise _error(TypeError, "run_file", value, wanted) from None
    if not path or "\0" in path:
        raise _error(ValueError, "run_file", value, wanted)
    return path


def phase(name):
    if not isinstance(name, str):
        raise TypeError(f"a phase needs a name, such as \"evaluate\", not {name!r:.60}")


def logger(value):
    if isinstance(value, str):
        import logging  # only imported when needed
        return logging.getLogger(value)
    if value is not None and not all(
            callable(getattr(value, method, None)) for method in ("info", "warning")):
        raise _error(TypeError, "logger", value, "a logging.Logger, the name of one, or None")
    return value


def on_leak(value):
    if value is not None and not callable(value):
        raise _error(TypeError, "on_leak", value, "a function that takes a Verdict, or None")
    return value


def _is_device_name(text):
    known = _torch.is_device_name(text)
    if known is not None:
        return known
    parts = DEVICE.fullmatch(text)
    return parts is not None and parts[1] in DEVICE_TYPES


def device(value):
    """Checks the device and returns it unchanged, for torch."""
    wanted = 'a torch device ("cuda", "cuda:0", "cpu", a torch.device, a number) or None'
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, str):
        right = _is_device_name(value)
    elif is_number:
        right = value >= 0
    elif value is None or (hasattr(value, "type") and hasattr(value, "index")):
        return value
    else:
        raise _error(TypeError, "device", value, wanted)
    if not right:
        raise _error(ValueError, "device", value, wanted)
    return value
