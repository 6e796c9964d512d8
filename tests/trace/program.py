"""tests/trace/program.py: MODE SECONDS: a Python program that checks what it made.

Prints the same whether it is traced or not, and ends with the same status.
"""

import ctypes
import faulthandler
import gc
import json
import os
import sys
import threading
import time
import tracemalloc

END = time.monotonic() + float(sys.argv[2])


def is_over():
    return time.monotonic() >= END


def objects(rounds):
    """Made, compared and dropped; the sum is known."""
    kept, total = [], 0
    for i in range(rounds):
        record = {"id": i, "name": "item %d" % i, "tags": [str(i % 7), "x" * (i % 700)]}
        copy = json.loads(json.dumps(record))
        assert copy == record
        kept.append((copy, bytearray(i % 5000), float(i)))
        if len(kept) > 100:
            total += sum(one[0]["id"] for one in kept[:50])
            del kept[:50]
    return total


def in_threads(count, run):
    failures = []

    def guarded():
        try:
            while not is_over():
                run()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def work(seed):
    """In a process of a pool."""
    return objects(200 + seed % 3) + deep(50)


def deep(depth):
    return len([None] * 100) + deep(depth - 1) if depth else 0


def processes(method):
    import multiprocessing
    context = multiprocessing.get_context(method)
    expected = [work(i) for i in range(8)]

    def run():
        with context.Pool(2) as pool:
            assert pool.map(work, range(8)) == expected

    run()
    if method == "fork":
        in_threads(2, lambda: objects(200))
        while not is_over():
            run()


def mode_threads():
    """With collections, threads that end, and deep stacks."""
    sys.setrecursionlimit(20000)
    threading.stack_size(16 << 20)
    in_threads(8, lambda: (objects(300), deep(2000), gc.collect(0)))


def mode_fork():
    processes("fork")


def mode_spawn():
    processes("spawn")


def mode_tools():
    """Others that hang themselves into the interpreter."""
    sink = open(os.devnull, "w")
    faulthandler.enable(sink)
    gc.disable()

    def trace(frame, event, argument):
        return trace

    def run():
        sys.settrace(trace)
        objects(30)
        sys.settrace(None)
        sys.setprofile(lambda *a: None)
        objects(30)
        sys.setprofile(None)
        faulthandler.dump_traceback(sink, all_threads=False)  # of running ones it may crash

    def switch():
        tracemalloc.start(5)
        total = objects(100)
        assert tracemalloc.get_traced_memory()[0] > 0
        tracemalloc.take_snapshot().statistics("lineno")
        tracemalloc.stop()
        assert total == objects(100)

    other = threading.Thread(target=lambda: in_threads(2, run))
    other.start()
    while not is_over():
        switch()
        gc.collect()
    other.join()


def mode_interpreters():
    """Interpreters inside this one, one after another."""
    source = "import json\nl = [json.loads(json.dumps({str(i): [i] * 50})) for i in range(200)]\n"
    try:
        import _xxsubinterpreters as module
    except ImportError:
        try:
            import _interpreters as module
        except ImportError:
            return
    execute = getattr(module, "run_string", None) or module.exec

    def run():
        one = module.create()
        execute(one, source)
        module.destroy(one)

    other = threading.Thread(target=lambda: in_threads(2, lambda: objects(100)))
    other.start()
    while not is_over():
        run()
    other.join()


def mode_daemons():
    """Threads that still allocate while the interpreter ends."""
    def run():
        while True:
            objects(50)

    for _ in range(8):
        threading.Thread(target=run, daemon=True).start()
    time.sleep(0.5)


def mode_numpy():
    import numpy

    def run():
        a = numpy.arange(50000.0).reshape(200, 250)
        assert float((a * 2 - a).sum()) == float(a.sum())
        assert len([numpy.zeros(i) for i in range(200)]) == 200

    in_threads(4, run)


def mode_loader():
    import torch

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 400

        def __getitem__(self, i):
            return torch.full((64,), float(i)), objects(3)

    net = torch.nn.Linear(64, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-9)
    for _ in range(2):
        total = 0
        for x, y in torch.utils.data.DataLoader(Data(), 16, num_workers=2):
            optimizer.zero_grad()
            net(x).mean().backward()
            optimizer.step()
            total += int(x[:, 0].sum())
        assert total == 400 * 399 // 2


def mode_crash():
    """The traceback of faulthandler is the program's output."""
    faulthandler.enable()
    objects(500)
    ctypes.string_at(0)


def mode_error():
    objects(500)
    raise SystemExit(41)


# A child of spawn imports this file.
if __name__ == "__main__":
    globals()["mode_" + sys.argv[1]]()
    print("ok")
