"""tests/hostile/target.py MODE FOLDER [VICTIM]: a process that turns against whoever attaches to it.

Runs as an ordinary user, in user and mount namespaces of its own where MODE needs them. Prints
"ready", then idles in its main thread while another thread attacks.
"""

import ctypes
import os
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
MS_BIND = 4096
PR_SET_DUMPABLE = 4


def bind(source, over):
    libc.mount(source.encode(), over.encode(), None, MS_BIND, None)


def new_folders(place):
    """Every folder of tidemark's in `place`, as soon as it is there."""
    seen = set()
    while True:
        for name in os.listdir(place):
            if name.startswith("tidemark-") and name not in seen:
                seen.add(name)
                yield os.path.join(place, name)


def mounts_over_new_folders(folder, victim):
    for path in new_folders("/dev/shm"):
        bind(victim, path)


def plants_endless_file(folder, victim):
    for path in new_folders("/dev/shm"):
        for _ in range(50):
            try:
                os.symlink("/dev/zero", path + "/wake")
            except OSError:
                pass


def is_deputy(pid):
    """Neither a thread that was brought into us, nor the child of ours that counts our objects."""
    if os.path.exists("/proc/self/task/%s" % pid):
        return False
    with open("/proc/%s/comm" % pid) as file:
        return file.read() == "tidemark\n"


def stops_deputies(folder, victim):
    """A deputy is stopped: a signal is all we may send. Pids are given in order, so that the next
    ones are tried without looking."""
    while True:
        with open("/proc/loadavg") as file:
            last = int(file.read().split()[-1])
        for pid in range(last, last + 6):
            try:
                if is_deputy(pid):
                    os.kill(pid, signal.SIGSTOP)
            except (OSError, ValueError):
                pass


def prepare(mode, folder, victim):
    if mode == "left_over":
        os.mkdir("/dev/shm/tidemark-aaaaaa")
        bind(victim, "/dev/shm/tidemark-aaaaaa")
    if mode == "watched":
        os.mkdir(folder + "/run")
        os.close(os.open(folder + "/run/wake", os.O_CREAT | os.O_WRONLY))
        bind(os.path.join(victim, "file"), folder + "/run/wake")


ATTACKS = {"mounts": mounts_over_new_folders, "endless": plants_endless_file, "stops": stops_deputies}


def grow(path):
    """A list that grows in code which calls itself by another file's name."""
    source = "\n" * 2 + "def train():\n    history = []\n    while True:\n        history.append(bytes(20000))\n        sleep(0.002)\n"
    names = {"sleep": time.sleep}
    exec(compile(source, path, "exec"), names)
    names["train"]()


def write_to(fd):
    """It is our output from now on."""
    os.dup2(fd, 1)
    os.dup2(fd, 2)


def main():
    mode, folder, victim = sys.argv[1], sys.argv[2], sys.argv[3]
    if mode in ("left_over", "mounts", "endless"):
        bind(folder, "/dev/shm")
    prepare(mode, folder, victim)
    if mode == "closed":
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if mode in ATTACKS:
        threading.Thread(target=ATTACKS[mode], args=(folder, victim), daemon=True).start()
    print("ready", flush=True)
    if mode == "source":
        grow(victim + "/file")
    if mode == "output":
        write_to(os.open(os.path.join(victim, "file"), os.O_PATH))
    if mode == "steps":
        write_to(os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT, 0o600))
        for step in range(1000):
            print("step %d" % step, flush=True)
            time.sleep(0.02)
    while True:
        time.sleep(0.01)


main()
