"""Threads that allocate and check what they allocated, timers with Python handlers, forks in between."""
import ctypes
import hashlib
import os
import signal
import sys
import threading
import time

import ending

wrong = []
ticks = 0


def tick(*_):
    global ticks
    ticks += 1


def sums(seed, n):
    kept, total = [], 0.0
    for i in range(n):
        kept.append(bytes([(seed + i) % 251]) * (17 + (i * 37) % 4000))
        total += (i % 13) * 0.5
        if i % 7 == 0:
            del kept[: len(kept) // 2]
    return hashlib.sha1(b"".join(kept)).hexdigest(), total


def allocate(seed):
    wanted = sums(seed, 200)
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    while not ending.over:
        blocks = [libc.malloc(64 + k * 1013 % 70000) for k in range(50)]
        if sums(seed, 200) != wanted:
            wrong.append("sums of %d" % seed)
        for block in blocks:
            libc.free(block)


def nap():
    while not ending.over:
        begun = time.monotonic()
        time.sleep(0.02)
        if time.monotonic() - begun < 0.0199:
            wrong.append("a nap too short")


def fork(wanted):
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os._exit(0 if sums(1, 50) == wanted else 1)
    if os.waitpid(pid, 0)[1] != 0:
        wrong.append("a child")


signal.signal(signal.SIGALRM, tick)
interval = float(sys.argv[1]) if len(sys.argv) > 1 else 0.003
signal.setitimer(signal.ITIMER_REAL, interval, interval)
threads = [threading.Thread(target=allocate, args=(s,)) for s in (3, 5)] + [threading.Thread(target=nap)]
for t in threads:
    t.start()
wanted, short = sums(9, 300), sums(1, 50)
ending.begin()
rounds = 0
while not ending.over and not wrong:
    if sums(9, 300) != wanted:
        wrong.append("the main thread's sums")
    if rounds % 20 == 0:
        fork(short)
    if rounds % 5 == 0:
        time.sleep(0.001)
    rounds += 1
ending.over = True
for t in threads:
    t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
if ticks == 0:
    wrong.append("no signals")
ending.right(not wrong, str(wrong[:5]))
