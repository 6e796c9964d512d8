"""Counts a signal of the kind that is queued, each by itself, as often as it comes."""
import os
import signal

import ending

read_end, write_end = os.pipe()
os.set_blocking(read_end, False)
os.set_blocking(write_end, False)
signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
signal.signal(signal.SIGRTMIN, lambda *_: None)
count = 0


def take():
    global count
    try:
        count += os.read(read_end, 65536).count(signal.SIGRTMIN)
    except BlockingIOError:
        pass


ending.begin()
while not ending.over:
    take()
take()
print(count)
ending.right()
