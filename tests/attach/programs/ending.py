"""How the programs here begin and end: they say "ready", run until SIGUSR2, and say "right"."""
import signal
import sys

over = False


def end(*_):
    global over
    over = True


def begin():
    signal.signal(signal.SIGUSR2, end)
    print("ready", flush=True)


def right(is_right=True, said=""):
    print("right" if is_right else "WRONG %s" % said, flush=True)
    sys.exit(0 if is_right else 1)
