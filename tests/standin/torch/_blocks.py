"""Memory of a device that no Python object holds, and torch's recording of it, as the version in
STANDIN_RECORDING has it: 1.13, 2.0, 2.1, 2.5, 2.9, 2.11 or 2.15.

allocate() and free() stand for code in C++: what they keep lies in memory that Python does not see.
"""

import mmap
import os
import struct
import sys

VERSION = tuple(int(part) for part in os.environ["STANDIN_RECORDING"].split("."))
DEVICE = 1
MOST = 1 << 16
FIRST, APART = 0x7F0000000000, 1 << 32  # addresses
HOST = 0x100000000000

_record = struct.Struct("=QQQ")  # size, stack, is pinned
_blocks = mmap.mmap(-1, MOST * _record.size)
_counts = mmap.mmap(-1, 64)  # blocks made, bytes in use on the device, pinned, blocks in use
_stacks = [()]
_numbers = {(): 0}
calls = []  # of the recording, at most a handful
_state = {"enabled": False, "entries": 0, "pinned": False}


def _count(index, more=0):
    value = struct.unpack_from("=q", _counts, 8 * index)[0] + more
    struct.pack_into("=q", _counts, 8 * index, value)
    return value


def _stack():
    frames, frame = [], sys._getframe(2)
    while frame:
        frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    frames = tuple(frames)
    if frames not in _numbers:
        _numbers[frames] = len(_stacks)
        _stacks.append(frames)
    return _numbers[frames]


def allocate(size, pinned=False, python=True):
    """The number of a block; `python` False: from a thread in which no Python runs."""
    recorded = _state["enabled"] and (not pinned or _state["pinned"])
    number = _count(0, 1) - 1
    _record.pack_into(_blocks, number % MOST * _record.size, size,
                      _stack() if recorded and python else 0, pinned)
    _count(2 if pinned else 1, size)
    _count(3, 1)
    if recorded:
        _state["entries"] += 1
    return number


def free(number):
    size, _, pinned = _record.unpack_from(_blocks, number % MOST * _record.size)
    _record.pack_into(_blocks, number % MOST * _record.size, 0, 0, 0)
    _count(2 if pinned else 1, -size)
    _count(3, -1)


_lists = {}


def _frames(stack):
    """Blocks with the same stack share its frames."""
    if stack not in _lists:
        _lists[stack] = [{"filename": file, "line": line, "name": name}
                         for file, line, name in _stacks[stack]]
    return _lists[stack]


def _block(address, size, stack, state="active_allocated"):
    block = {"size": size, "state": state}
    if VERSION >= (2, 1):
        block.update(address=address, requested_size=size, frames=_frames(stack))
    elif stack:
        block["history"] = [{"addr": address, "real_size": size, "frames": _frames(stack)}]
    return block


def _segments(of_host):
    segments = []
    for place in range(min(_count(0), MOST)):
        size, stack, pinned = _record.unpack_from(_blocks, place * _record.size)
        if not size or pinned != of_host:
            continue
        address = (HOST if of_host else FIRST) + place * APART
        # What lies before a block in its segment is free: only the sizes lead to its address.
        blocks = [_block(address, 512, 0, "inactive"), _block(address + 512, size, stack)]
        segments.append({"device": DEVICE, "address": address, "total_size": size + 512,
                         "segment_type": "large", "stream": 0, "blocks": blocks})
    return segments


def snapshot(*args):
    if len(args) != (1 if VERSION >= (2, 9) else 0):
        raise TypeError("incompatible function arguments")
    if VERSION < (2, 0):
        return _segments(False)
    most = _state.get("most", 1)
    trace = [{"action": "alloc"}] * min(_state["entries"], most)
    found = {"segments": _segments(False), "device_traces": [[], trace]}
    if VERSION >= (2, 15):
        found["host_segments"], found["host_traces"] = _segments(True), []
    return found


def _set(enabled, most, pinned):
    calls.append(enabled)
    _state.update(enabled=enabled, most=most, entries=0, pinned=pinned)
    if os.environ.get("STANDIN_CALLS"):
        with open(os.environ["STANDIN_CALLS"], "a") as file:
            file.write("%s\n" % ("on" if enabled else "off"))


def record(*args):
    """_cuda_record_memory_history(), as strict about its arguments as a function in C++ is."""
    expected = [4, 4, 7, 8, 10][[(2, 1), (2, 5), (2, 9), (2, 11), (2, 15)].index(VERSION)]
    kinds = [(str, type(None)), (str, type(None)), (str,), (int,), (bool,), (bool,), (bool,), (list,),
             (bool,), (bool,)]
    if len(args) != expected or any(type(a) not in k for a, k in zip(args, kinds)):
        raise TypeError("incompatible function arguments")
    if args[0] not in (None, "state", "all") or args[1] not in (None, "state", "alloc", "all"):
        raise RuntimeError("expected state to be 'state', 'all', or None")
    if os.environ.get("STANDIN_ALLOCATOR") == "pluggable":
        raise RuntimeError("CUDAPluggableAllocator does not yet support recordHistory")
    _set(args[0] is not None, args[3] if args[0] == "all" else 1, expected == 10 and args[8])


def record_2_0(*args):
    if [type(a) for a in args] != [bool, bool, bool, int, bool]:
        raise TypeError("incompatible function arguments")
    _set(args[0], args[3], False)


def record_1_13(*args):
    if [type(a) for a in args] != [bool]:
        raise TypeError("incompatible function arguments")
    _set(args[0], 1, False)


def stats(device):
    used = _count(1) if device == DEVICE else 0
    counted = {"current": _count(3) if device == DEVICE else 0}
    return {"allocated_bytes": {"all": {"current": used, "peak": used}},
            "reserved_bytes": {"all": {"current": used and used + 2097152}},
            "active": {"all": counted}}


def host_stats():
    return {"allocated_bytes": {"current": _count(2)}}


def functions():
    """What torch._C has in that version."""
    found = {"_cuda_memorySnapshot": snapshot, "_cuda_memoryStats": stats,
             "_cuda_hostMemoryStats": host_stats}
    if VERSION >= (2, 1):
        found["_cuda_record_memory_history"] = record
    else:
        found["_cuda_recordMemoryHistory"] = record_2_0 if VERSION >= (2, 0) else record_1_13
    if VERSION >= (2, 5):
        found["_cuda_isHistoryEnabled"] = lambda: _state["enabled"]
    return found
