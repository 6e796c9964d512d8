"""tests/trace/busy.py SECONDS LIBRARY: threads that allocate, fork and load files all the time.

Every block is checked before it is freed. Prints "ready", and at the end "fine".
"""

import _ctypes
import ctypes
import os
import random
import subprocess
import sys
import threading
import time
import zlib

END = time.monotonic() + float(sys.argv[1])
SIZES = (16, 100, 1000, 70000, 300000)
wrong = []

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def is_over():
    return time.monotonic() >= END


def allocates():
    while not is_over():
        blocks = [(libc.malloc(size), size, i & 255)
                  for i, size in enumerate(random.choices(SIZES, k=200))]
        for address, size, value in blocks:
            ctypes.memset(address, value, size)
        for address, size, value in blocks:
            address = libc.realloc(address, size + 500)
            if ctypes.string_at(address, size) != bytes([value]) * size:
                wrong.append(size)
            libc.free(address)
        zlib.decompress(zlib.compress(os.urandom(100000)))


def forks():
    while not is_over():
        pid = os.fork()
        if pid == 0:
            kept = [bytearray(1000) for _ in range(1000)]
            os._exit(0 if kept else 1)
        os.waitpid(pid, 0)
        subprocess.run(["/bin/true"], check=True)
        time.sleep(0.01)


def loads():
    while not is_over():
        library = ctypes.CDLL(sys.argv[2])
        library.plugin_keep.restype = ctypes.c_void_p
        library.plugin_drop.argtypes = [ctypes.c_void_p]
        library.plugin_drop(library.plugin_keep(1000))
        _ctypes.dlclose(library._handle)


def main():
    print("ready", flush=True)
    threads = [threading.Thread(target=f) for f in (allocates, allocates, allocates, forks, loads)]
    for thread in threads:
        thread.start()
    while not is_over():
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    print("fine" if not wrong else "wrong", flush=True)


main()
