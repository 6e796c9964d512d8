"""tests/trace/leaks.py WAY STEPS: keeps memory in this way, and prints its steps.

Each way has a function of its own name, in which the memory is allocated. tests/trace/answers.py
says what tidemark must answer.
"""
import ctypes
import sys
import threading
import time


def lost_graph(i):
    """A parameter and its gradient keep each other, in C++ alone."""
    import torch

    w = torch.randn(64, 512, requires_grad=True)
    w.tanh().sum().backward(create_graph=True)


def traced_again(i):
    """Every trace stays in TorchScript's registry."""
    import torch

    torch.jit.trace(network, torch.zeros(1, 16))


def c_malloc(i):
    """Through libc's own handle, past every interposed malloc()."""
    block = libc.malloc(65536)
    libc.memset(block, 1, 65536)


def kept_items(i):
    """A list of the program's keeps what is made here."""
    churn = [str(k) for k in range(500)]
    kept.append([float(i + k) for k in range(len(churn))])


def in_a_thread(i):
    """As above, on another thread."""
    worker = threading.Thread(target=kept_items, args=(i,))
    worker.start()
    worker.join()


def warm_up(i):
    """Grows in the first quarter, and is used from then on."""
    if i < steps / 4:
        kept.append(bytearray(100_000))


def bounded(i):
    """New memory replaces old."""
    kept.append(bytearray(100_000))
    if len(kept) > 50:
        del kept[0]


def clean(i):
    """Much is allocated, and nothing stays."""
    [bytearray(k) for k in range(0, 100_000, 1_000)]


way, steps = sys.argv[1], int(sys.argv[2])
kept = []
if way in ("lost_graph", "traced_again"):
    import warnings

    import torch

    warnings.simplefilter("ignore")
    network = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16))
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
for i in range(1, steps + 1):
    globals()[way](i)
    print("step", i, flush=True)
    time.sleep(0.004)
