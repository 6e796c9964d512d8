"""What the test programs in Python share: options, steps, children. load.h is the same for C."""

import argparse
import ctypes
import os
import signal
import sys
import time
import traceback

_PR_SET_PDEATHSIG = 1


class Stopped(SystemExit):
    """SIGTERM or SIGINT came: unwinds to Load.run(), which ends the children and dies of it."""

    def __init__(self, number):
        super().__init__(128 + number)
        self.number = number


def _on_signal(number, _frame):
    raise Stopped(number)


def options(document, steps=1000, step_ms=10.0):
    """A parser with the options every program has; its help is the program's docstring."""
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--step-ms", type=float, default=step_ms, help="slept in each step")
    parser.add_argument("--fix", action="store_true", help="the twin that does not grow")
    return parser


def die_with_parent(number=signal.SIGKILL):
    """The kernel sends `number` to this process when its parent has died."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def take(megabytes):
    """So much memory, every page touched; given back to the kernel when it is dropped."""
    return b"\x5a" * int(megabytes * (1 << 20))


class Load:
    """The children of a program and its way to end."""

    def __init__(self):
        self.children = []

    def fork(self, main):
        """Runs main() in a child that ends with its parent. Returns its pid."""
        parent = os.getpid()
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            self.children.append(pid)
            return pid
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        status = 1
        try:
            if os.getppid() == parent:
                main()
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)

    def end_children(self):
        for pid in self.children:
            os.kill(pid, signal.SIGTERM)
        while self.children:
            os.waitpid(self.children.pop(), 0)

    def run(self, main):
        """Runs main(), ends the children, and dies of the signal that stopped it."""
        signal.signal(signal.SIGTERM, _on_signal)
        signal.signal(signal.SIGINT, _on_signal)
        number = 0
        try:
            main()
        except Stopped as stopped:
            number = stopped.number
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.end_children()
        if number:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def sleep_ms(milliseconds):
    if milliseconds > 0:
        time.sleep(milliseconds / 1000)
