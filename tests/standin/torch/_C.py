"""Counters of the CUDA allocator: 512 bytes more at each reading."""

import _ctypes  # as torch's own, a module in C: whoever waits for one is told
import os

readings = 0


def _cuda_getDeviceCount():
    return 2


def _cuda_memoryStats(device):
    global readings
    if device != 1:
        return {"reserved_bytes": {"all": {"current": 0}}}
    readings += 1
    return {
        "allocated_bytes": {"all": {"current": 512 * readings, "peak": 1048576}},
        "reserved_bytes": {"all": {"current": 2097152}},
    }


def _cuda_hostMemoryStats():
    return {"allocated_bytes": {"current": 4096}}


if os.environ.get("STANDIN_RECORDING"):
    from torch import _blocks

    globals().update(_blocks.functions())
