"""Spins, after SIGUSR2 for some seconds more, and ends; argv: way, seconds, seconds between switches."""
import os
import sys
import threading
import time
import warnings

import ending

way, seconds, switch = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
sys.setswitchinterval(switch)


def spin(until):
    while time.monotonic() < until:
        pass


def leave_thread():
    spin(end)
    sys.exit(4)


ending.begin()
while not ending.over:
    pass
end = time.monotonic() + seconds
if way == "daemon":
    threading.Thread(target=spin, args=(end + 60,), daemon=True).start()
if way == "thread":
    threading.Thread(target=leave_thread).start()
spin(end)
if way == "fork":
    warnings.simplefilter("ignore", DeprecationWarning)  # since 3.12: there is a thread of ours
    pid = os.fork()
    if pid == 0:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
if way == "exit":
    sys.exit(3)
if way == "at once":
    os.write(1, b"done\n")
    os._exit(5)
if way == "error":
    print("done", flush=True)
    raise SystemError("as intended")
print("done")
