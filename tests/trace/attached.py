"""tests/trace/attached.py SECONDS [torch | LIBRARY]: keeps memory in two ways, or three, and checks
itself at the end. The library is loaded each time, by another thread, and unloaded.

Prints "ready", then a line for every hundredth step; at the end "fine".
"""

import _ctypes
import ctypes
import sys
import threading
import time

SIZE = 20000
kept, native = [], []


def keep_in_python():
    kept.append(bytearray(SIZE))


def keep_by_ctypes():
    libc = ctypes.CDLL("libc.so.6")
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    native.append(libc.malloc(SIZE))
    ctypes.memset(native[-1], 1, SIZE)


def come_and_go():
    return [str(number) for number in range(1000)]


def keep_by_library():
    handle = _ctypes.dlopen(sys.argv[2], 0)
    keep = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(_ctypes.dlsym(handle, "plugin_keep"))
    native.append(keep(SIZE))
    _ctypes.dlclose(handle)


def loading():
    def step():
        thread = threading.Thread(target=keep_by_library)
        thread.start()
        thread.join()
    return step


def training():
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        model(torch.ones(32, 64)).pow(2).mean().backward()
        optimizer.step()
    return step


def main():
    how = sys.argv[2:]
    step = training() if how == ["torch"] else loading() if how else come_and_go
    end = time.monotonic() + float(sys.argv[1])
    print("ready", flush=True)
    steps = 0
    while time.monotonic() < end:
        keep_in_python()
        keep_by_ctypes()
        come_and_go()
        step()
        steps += 1
        if steps % 100 == 0:
            print("step", steps, flush=True)
        time.sleep(0.002)
    for address in native:
        assert ctypes.string_at(address, SIZE) == b"\1" * SIZE
    assert all(len(k) == SIZE for k in kept)
    libc = ctypes.CDLL("libc.so.6")
    libc.free.argtypes = [ctypes.c_void_p]
    for address in native:
        libc.free(address)
    print("fine", flush=True)


main()
