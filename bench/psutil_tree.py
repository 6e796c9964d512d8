"""Watches a process and all that descend from it with psutil, once a second, until it is ended.

What a program does today that wants the memory of a job without counting shared pages twice:
memory_full_info (USS, PSS) and cpu_percent of each process. Needs psutil.
"""

import sys
import time

import psutil

root = psutil.Process(int(sys.argv[1]))
known = {}
due = time.monotonic()
while True:
    total = 0
    for process in [root, *root.children(recursive=True)]:
        process = known.setdefault(process.pid, process)
        try:
            total += process.memory_full_info().pss
            process.cpu_percent()
        except psutil.NoSuchProcess:
            del known[process.pid]
    print("%.1f MB" % (total / 1e6), flush=True)
    due = max(due + 1, time.monotonic())
    time.sleep(max(0, due - time.monotonic()))
