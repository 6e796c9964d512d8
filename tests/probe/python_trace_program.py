"""Python functions that run, and what the tracer reads of them; allocations, and how it counts them.

Run by tests/probe/python_trace.py with every CPython: python_trace_program.py LIBRARY [NAME...]. One
line per case: "ok NAME", or "FAIL NAME: the answer".
"""

import asyncio
import builtins
import collections
import ctypes
import functools
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback

VERSION = sys.version_info[:2]
ROOM = 1 << 20
WATCHED = 1000003  # bytes of an allocation that nothing else makes
with_gil = without_gil = None

Frame = collections.namedtuple("Frame", "name file line first_line is_entry")


class Failed(Exception):
    pass


def expect(true, *said):
    if not true:
        raise Failed(repr(said))


# ---- what is read, and what Python says ----


def parsed(text):
    rows = [line.split("\t") for line in text.decode().splitlines()]
    return [Frame(name, file, int(line), int(first), entry == "1")
            for name, file, line, first, entry in rows]


def name_of(code):
    """As the tracer shows it: with its class since 3.11, without the enclosing functions."""
    return getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]


def writable(text):
    """Lone surrogates cannot be written."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def said(frame):
    """What Python says of a frame and its callers, innermost first."""
    found = []
    while frame:
        code = frame.f_code
        found.append((writable(name_of(code)), writable(code.co_filename), frame.f_lineno or 0,
                      code.co_firstlineno))
        frame = frame.f_back
    return found


def compare(text, frame, line=None):
    """`text` is what was read while `frame` called; `line`: in which it was then."""
    read, truth = [tuple(f[:4]) for f in parsed(text)], said(frame)
    if line:
        truth[0] = truth[0][:2] + (line,) + truth[0][3:]
    expect(read == truth, [p for p in zip(read, truth) if p[0] != p[1]][:3], len(read), len(truth))


def check(library=None):
    """The stack of the caller, as read now."""
    here, text = sys._getframe(1), ctypes.create_string_buffer(ROOM)
    (library or with_gil).trace_stack(text, ROOM)
    read, truth = parsed(text.value), said(here)
    expect(read[0].name == "check", read[0])
    expect([tuple(f[:4]) for f in read[1:]] == truth, read[1:4], truth[:3])
    check_loops(library)
    check.count += 1
    return True


def check_loops(library=None):
    counts = (ctypes.c_int * 2)()
    (library or with_gil).trace_loops(counts)
    expect(counts[0] == counts[1], list(counts))


# ---- functions of all kinds ----


def nested_functions():
    def inner(n):
        def innermost():
            return check()
        if n == 0:
            return innermost(

            )
        return (
            inner(
                n - 1))
    inner(3)


def generators():
    def produce():
        for i in range(3):
            check()
            yield i

    def delegate():
        yield from produce()
        check()
    expect(list(delegate()) == [0, 1, 2])
    expect(sum(check() for i in range(3)) == 3)
    for _ in delegate():
        check()


def coroutines():
    async def innermost():
        check()
        await asyncio.sleep(0)
        check()

    async def many():
        for i in range(2):
            check()
            yield i
            await innermost()

    async def outer():
        await asyncio.gather(innermost(), innermost())
        async for _ in many():
            check()
        return [check() async for _ in many()]
    asyncio.run(outer())


def comprehensions():
    [check() for i in range(2)]
    {check() for i in range(2)}
    {i: check()
     for i in range(2)}
    [[check() for j in range(2)] for i in range(2)]


def lambdas():
    f = lambda: (lambda: check())()
    f()
    functools.partial(f)()


def class_bodies():
    class Outer:
        check()

        class Inner:
            check()

            def method(self):
                return check()

            @property
            def attribute(self):
                return check()

            @classmethod
            def made(cls):
                return check() and cls()

            def __del__(self):
                check()
    o = Outer.Inner.made()
    o.method()
    o.attribute
    del o


def constructors():
    """Since 3.12 the interpreter runs instructions of its own around an __init__()."""
    class Made:
        def __init__(self):
            check()
    for _ in range(200):
        Made()


def executed_code():
    exec("check()")
    exec(compile("\n\n\ndef f():\n  check()\n\n  return check()\nf()", "<given>", "exec"), globals())
    expect(eval("check()"))


def code_at_the_same_address():
    """Code objects that are freed; the next one lies where the last one was."""
    keys, addresses = set(), set()
    for i in range(300):
        code = compile("\n" * (i % 50) + "check()", "<made %d>" % (i % 7), "exec")
        addresses.add(id(code))
        exec(code)
        exec(compile("\n" * (i % 50) + "keys.add(with_gil.trace_key())", "<made %d>" % (i % 7),
                     "exec"), {"keys": keys, "with_gil": with_gil})
    expect(len(addresses) < 300, len(addresses))
    expect(len(keys) > 250, len(keys))


def callbacks_of_c():
    sorted([2, 1], key=lambda x: check())
    list(map(lambda x: check(), "ab"))
    list(filter(lambda x: check(), "ab"))
    functools.reduce(lambda a, b: check(), [1, 2, 3])
    max([1, 2], key=lambda x: sorted([1], key=lambda y: check()))

    class Odd:
        def __eq__(self, other):
            return check()

        def __hash__(self):
            return 1

        def __repr__(self):
            return str(check())

        def __getattr__(self, name):
            return check()
    {Odd(): 1}[Odd()]
    "%r %s" % (Odd(), Odd().something)


def threads():
    wrong = []

    def run():
        try:
            for _ in range(50):
                check()
                check(without_gil)
        except Failed as failure:
            wrong.append(failure)
    several = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in several]
    [t.join() for t in several]
    expect(not wrong, wrong[:1])


def a_thread_without_the_gil():
    """ctypes releases it for the call. Meanwhile another thread has it, and runs."""
    done = threading.Event()

    def busy():
        while not done.is_set():
            [str(i) for i in range(100)]
    other = threading.Thread(target=busy)
    other.start()
    try:
        for _ in range(300):
            check(without_gil)
    finally:
        done.set()
        other.join()


def a_thread_unknown_to_python():
    run = ctypes.CDLL(sys.argv[1])
    expect(run.trace_stack_elsewhere() == 0, "frames of a thread that has none")


def deep_recursion():
    def down(n):
        if n:
            return down(n - 1)
        return check()
    down(700)


def a_tracing_function():
    lines = []

    def trace(frame, event, argument):
        lines.append(frame.f_lineno)
        if len(lines) < 50:
            check.count += 0
            text = ctypes.create_string_buffer(ROOM)
            with_gil.trace_stack(text, ROOM)
            compare(text.value, sys._getframe(0), sys._getframe(0).f_lineno - 1)
        return trace

    def traced():
        a = 1
        for i in range(3):
            a += i
        return check()
    sys.settrace(trace)
    try:
        traced()
    finally:
        sys.settrace(None)
    expect(lines)


def a_profiling_function():
    events = []

    def profile(frame, event, argument):
        if not events:
            events.append(event)
            check()
    sys.setprofile(profile)
    try:
        len([])
        check()
    finally:
        sys.setprofile(None)
    expect(events)


def names_that_are_not_ascii():
    def é():
        return check()

    def λ_größe():
        return é()

    def 𝔣():
        return λ_größe()
    𝔣()
    exec(compile("check()", "/tmp/é/\u20ac/\U0001f30a.py", "exec"), globals())
    exec(compile("check()", "/tmp/\udce9.py", "exec"), globals())


def exceptions_being_handled():
    try:
        try:
            raise ValueError
        except ValueError:
            check()
            raise KeyError
        finally:
            check()
    except KeyError:
        check()
    with open(os.devnull):
        check()


def a_signal_handler():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *a: seen.append(check()))
    os.kill(os.getpid(), signal.SIGUSR1)
    [None for _ in range(1000)]
    signal.signal(signal.SIGUSR1, before)
    expect(seen)


def rare_instructions():
    """Compilers move what is rare away from the rest of the loop."""
    class Odd:
        def __pos__(self):
            return check()

        def __bool__(self):
            return check()

        def __delitem__(self, key):
            check()

    class Names(dict):
        def __getitem__(self, name):
            check()
            raise KeyError(name)

    def imports(*arguments):
        check()
        return original(*arguments)
    +Odd()
    not Odd()
    del Odd()[1]
    exec("len", {}, Names())
    original, builtins.__import__ = builtins.__import__, imports
    try:
        import os.path
        from os import sep
    finally:
        builtins.__import__ = original


def code_with_long_lines():
    """Line tables have entries for long distances, forwards and backwards."""
    for gap in (1, 100, 127, 128, 200, 300, 5000, 70000):
        text = "f(\n%s1,\ncheck())\ncheck()\n" % ("\n" * gap)
        exec(compile(text, "<long>", "exec"), {"check": check, "f": lambda *a: None})
    many = "".join("x = %d\n" % i if i % 50 else "check()\n" for i in range(3000))
    exec(compile(many, "<many>", "exec"), {"check": check})


# ---- allocations ----

Counts = collections.namedtuple("Counts", "taken bytes live mismatches")


def counts():
    values = (ctypes.c_size_t * 4)()
    with_gil.trace_counts(values)
    return Counts(*values)


class Armed:
    def __enter__(self):
        expect(with_gil.trace_arm() == 1, "not armed")
        with_gil.trace_take_all(1)

    def __exit__(self, *error):
        with_gil.trace_take_all(0)
        expect(with_gil.trace_disarm() == 1, "not disarmed")


def inside_an_allocation():
    """Where the interpreter allocates, in the midst of its own work."""
    def allocates(n):
        with_gil.trace_watch(WATCHED)
        if n == 1:
            b"%*d" % (WATCHED, 1)
        elif n == 2:
            bytearray(WATCHED)
        else:
            [None] * (WATCHED // 8 + 1)
        line = sys._getframe().f_lineno - 1 - 2 * (3 - n)
        expect(with_gil.trace_watched(), n)
        compare(with_gil.trace_watched(), sys._getframe(), line)
    with Armed():
        for n in (1, 2, 3):
            allocates(n)


def objects_are_counted_once():
    """Small ones, and large ones, which Python takes from malloc()."""
    for size, count in ((50, 2000), (5000, 500)):
        made = [None] * count
        with Armed():
            before = counts()
            for i in range(count):
                made[i] = b"x" * (size + i % 2)
            after = counts()
            own = after.bytes - before.bytes
            made.clear()
            gone = counts()
        need = count * (size + 33.5)
        # Beside the objects, the numbers of the loop.
        expect(need <= own < need + 40 * count + 20000, own, need)
        expect(after.live - before.live > count * 0.99, after, before)
        expect(gone.live - before.live < 100, gone, before)


def memory_that_grows():
    """realloc() moves a sample; nothing is left of the old one."""
    with Armed():
        before = counts()
        grown = bytearray()
        for i in range(3000):
            grown += b"0123456789"
        many = []
        for i in range(3000):
            many.append(None)
        after = counts()
        del grown, many
        gone = counts()
    expect(after.live - before.live < 60, after, before)
    expect(gone.live - before.live < 50, gone, before)


def too_much_memory_is_refused():
    """A failed realloc() leaves what was there."""
    with Armed():
        kept = bytearray(b"x" * 100000)
        before = counts()
        for _ in range(20):
            try:
                kept.extend(bytes(0))
                kept *= 1 << 40
            except (MemoryError, OverflowError):
                pass
        after = counts()
    expect(kept == b"x" * 100000)
    expect(abs(after.live - before.live) < 50, after, before)


def stacks_everywhere():
    """At every 64th allocation of busy code, both stacks have the same calls of the loop."""
    with_gil.trace_see_stacks(1)
    before = counts()
    try:
        with Armed():
            churn(1500)
            import decimal, json
            json.loads(json.dumps({str(i): [i, {"a": i}] for i in range(300)}))
            str(decimal.Decimal(2).sqrt())
            compile("def f(a, b): return [a for x in b]\n" * 100, "<c>", "exec")
            asyncio.run(rest())
    finally:
        with_gil.trace_see_stacks(0)
    after = counts()
    expect(after.taken - before.taken > 10000, after, before)
    expect(after.mismatches == before.mismatches, after, before)


async def rest():
    for i in range(20):
        await asyncio.sleep(0)


class Node:
    def __init__(self, other):
        self.other, self.values = other, {"a": [1.5 * i for i in range(4)], "b": (str(other),)}

    def __repr__(self):
        return "node"


def churn(n):
    kept = []
    for i in range(n):
        a, b = Node(None), Node(i)
        a.other, b.other = b, a
        kept.append({"k%d" % (i % 100): a, **{c: {c, i} for c in "xyz"}})
        try:
            "".join(sorted(map(lambda v: repr(v), [a, b, i]), key=lambda v: len(v))) + 1
        except TypeError as error:
            kept.append(error)
        if len(kept) > 300:
            del kept[:200]
    gc.collect()


def arming_while_objects_churn():
    """Threads allocate and collect, another arms and disarms a thousand times."""
    done, wrong = threading.Event(), []

    def work(seed):
        rng = random.Random(seed)
        try:
            while not done.is_set():
                churn(rng.randrange(1, 40))
                if seed % 2:
                    with_gil.trace_take_all(rng.random() < 0.5)
        except BaseException as error:
            wrong.append(error)
    several = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in several]
    before = counts()
    try:
        for i in range(1000):
            expect(with_gil.trace_arm() == 1, "arm", i)
            if i % 50 == 0:
                time.sleep(0.005)
            else:
                Node(i)
            expect(with_gil.trace_disarm() == 1, "disarm", i)
    finally:
        done.set()
        [t.join() for t in several]
    expect(not wrong, wrong[:1])
    expect(counts().taken > before.taken, "nothing was sampled")


def under_tracemalloc():
    """Whoever comes first or goes first: each object counts once, and ours are still there."""
    import tracemalloc

    def is_seen():
        before = counts()
        made = [b"y" * (3000 + i) for i in range(50)]
        after = counts()
        size = after.bytes - before.bytes
        return 50 * 3000 < size < 50 * 3000 * 1.5 and len(made)
    arm, disarm = with_gil.trace_arm, with_gil.trace_disarm
    with_gil.trace_take_all(1)
    try:
        expect(arm() and is_seen(), "alone")
        tracemalloc.start()
        expect(is_seen(), "behind it")
        disarm()
        expect(arm() and is_seen(), "behind it, again")
        tracemalloc.stop()
        expect(is_seen(), "alone again")
        disarm()
        expect(not is_seen(), "disarmed")
        tracemalloc.start()
        expect(arm() and is_seen(), "before it")
        tracemalloc.stop()
        expect(arm() and is_seen(), "it was taken out, and took ours with it")
        disarm()
        expect(not is_seen(), "disarmed, again")
        tracemalloc.start()
        arm()
        disarm()
        expect(not is_seen(), "disarmed before it")
        kept = bytearray(100000)
        expect(tracemalloc.get_traced_memory()[0] > len(kept), "it goes on")
        tracemalloc.stop()
    finally:
        with_gil.trace_take_all(0)
        disarm()
        tracemalloc.stop()


def no_change_without_the_gil():
    expect(with_gil.trace_may_change() == 1)
    expect(without_gil.trace_may_change() == 0)
    expect(without_gil.trace_arm() == 0)


def a_forked_child():
    with Armed():
        child = os.fork()
        if child == 0:
            try:
                churn(50)
                check()
                with_gil.trace_disarm()
                churn(50)
                os._exit(0)
            except BaseException:
                os._exit(1)
        expect(os.waitpid(child, 0)[1] == 0)


def the_interpreter_ends_armed():
    """With a thread that still runs."""
    program = ("import ctypes, sys, threading\n"
               "g, n = ctypes.PyDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])\n"
               "text = ctypes.create_string_buffer(1 << 16)\n"
               "def f():\n    g.trace_take_all(1)\n"
               "    while True:\n        n.trace_stack(text, len(text)); [str(i) for i in range(9)]\n"
               "if g.trace_learn() and g.trace_arm():\n"
               "    threading.Thread(target=f, daemon=True).start()\n"
               "    sorted(range(9999), key=lambda i: str(i))\n")
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program, sys.argv[1]], timeout=60,
                              stderr=subprocess.PIPE)
        expect(done.returncode == 0 and not done.stderr, done.returncode, done.stderr)


CASES = [nested_functions, generators, coroutines, comprehensions, lambdas, class_bodies,
         constructors, executed_code, code_at_the_same_address, callbacks_of_c, threads,
         a_thread_without_the_gil, a_thread_unknown_to_python, deep_recursion, a_tracing_function,
         a_profiling_function, names_that_are_not_ascii, exceptions_being_handled,
         a_signal_handler, rare_instructions, code_with_long_lines, inside_an_allocation, objects_are_counted_once,
         memory_that_grows, too_much_memory_is_refused, stacks_everywhere,
         arming_while_objects_churn, under_tracemalloc, no_change_without_the_gil, a_forked_child,
         the_interpreter_ends_armed]


def run(case):
    """Returns "" if it succeeded."""
    check.count = 0
    try:
        case()
        return ""
    except Failed as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()


def main():
    global with_gil, without_gil
    with_gil, without_gil = ctypes.PyDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])
    for library in (with_gil, without_gil):
        library.trace_stack.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.trace_key.restype = ctypes.c_uint64
        library.trace_watch.argtypes = [ctypes.c_size_t]
        library.trace_watched.restype = ctypes.c_char_p
    if with_gil.trace_learn() != 1:
        print("FAIL learning: the layout of this interpreter is not known")
        return
    for case in CASES:
        if not sys.argv[2:] or any(name in case.__name__ for name in sys.argv[2:]):
            said_of_it = run(case).replace("\n", " | ")
            print("FAIL %s: %s" % (case.__name__, said_of_it) if said_of_it
                  else "ok " + case.__name__, flush=True)


if __name__ == "__main__":
    main()
