"""Becomes a new program again and again, and has threads that come and go."""
import os
import sys
import threading
import time

import ending

turn = int(sys.argv[1])
if turn == 0:
    ending.begin()
else:
    ending.signal.signal(ending.signal.SIGUSR2, ending.end)
begun = time.monotonic()
while time.monotonic() - begun < 0.15 and not ending.over:
    threads = [threading.Thread(target=time.sleep, args=(0.001 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
if turn == int(sys.argv[2]):
    while not ending.over:
        time.sleep(0.01)
if ending.over:
    ending.right(turn > 0)
os.execv(sys.executable, [sys.executable, sys.argv[0], str(turn + 1), sys.argv[2]])
