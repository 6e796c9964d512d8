"""One thread, mostly blocked in one kind of system call, for 0.2 s at a time. No call may end early,
late by much, or with an error."""
import os
import select
import subprocess
import sys
import threading
import time

import ending

how = sys.argv[1]
NAP = 0.2
reader, writer = os.pipe()
poll = select.poll()
poll.register(reader, select.POLLIN)
epoll = select.epoll()
epoll.register(reader, select.EPOLLIN)
lock = threading.Lock()
lock.acquire()
condition = threading.Condition()


def feed():
    """From another process, so that there is one thread only."""
    if os.fork() == 0:
        time.sleep(NAP)
        os.write(writer, b"x")
        os._exit(0)


def once():
    if how == "sleep":
        time.sleep(NAP)
    elif how == "poll":
        return poll.poll(NAP * 1000) == []
    elif how == "epoll":
        return epoll.poll(NAP) == []
    elif how == "select":
        return select.select([reader], [], [], NAP) == ([], [], [])
    elif how == "futex":
        return lock.acquire(timeout=NAP) is False
    elif how == "condition":
        with condition:
            return condition.wait(NAP) is False
    elif how == "read":
        feed()
        good = os.read(reader, 1) == b"x"
        return good and os.waitpid(-1, 0)[1] == 0
    elif how == "wait":
        return subprocess.call(["sleep", str(NAP)]) == 0
    return True


ending.begin()
while not ending.over:
    begun = time.monotonic()
    good = once()
    took = time.monotonic() - begun
    if ending.over:
        break
    if not good or took < NAP * 0.99:
        ending.right(False, "%s ended after %.3f s: %s" % (how, took, good))
ending.right()
