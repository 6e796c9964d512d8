"""traced.py RUN.tide [hostile|wide|two|endless]: gives a recorded run the sites of a traced process.

By default a training loop that keeps a list of tensors: it grows in `remember`, its loader has
settled, and a metric's cache may have grown by chance. Deterministic.
"""
import math
import sqlite3
import sys

COHORTS = 32
LOOKS = 9
MB = 1 << 20
INTERVAL = 65536

LIBTORCH = "/usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so"
PYTHON = "/usr/bin/python3.11"


def escape(field):
    return str(field).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def record(*fields):
    return "\t".join(map(escape, fields)) + "\n"


def python(function, file, line):
    return (function, file, line, "", 0, 0)


def native(function, module, offset, file="", line=0, inlined=0):
    return (function, file, line, module, offset, inlined)


MAIN = python("<module>", "/job/train.py", 57)
TRAIN = python("train", "/job/train.py", 41)
MALLOC = native("malloc", "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x9a6e0)
CALL = native("_PyEval_EvalFrameDefault", PYTHON, 0x1b2c3d)


def loop_sites():
    """(kind, device, frames innermost first, bytes at the first look, at the last, allocated)"""
    forward = [python("_wrapped_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1511),
               TRAIN, MAIN]
    empty = [MALLOC, native("posix_memalign", "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x9b000),
             native("c10::alloc_cpu(unsigned long)", "/usr/lib/python3/dist-packages/torch/lib/libc10.so", 0x5e10,
                    "c10/core/impl/alloc_cpu.cpp", 113, 1),
             native("c10::DefaultCPUAllocator::allocate(unsigned long) const",
                    "/usr/lib/python3/dist-packages/torch/lib/libc10.so", 0x5e10, "c10/core/CPUAllocator.cpp", 17),
             native("at::detail::empty_cpu", LIBTORCH, 0x1f0010)]
    return [
        ("malloc", "", [*empty, native("at::_ops::clone::call", LIBTORCH, 0x2f0110),
                        python("remember", "/job/train.py", 23), TRAIN, MAIN], 2 * MB, 26 * MB, 30 * MB),
        ("python", "", [python("append_row", "/job/history.py", 9), python("remember", "/job/train.py", 24), TRAIN,
                        MAIN], MB // 2, 5 * MB, 6 * MB),
        ("malloc", "", [*empty, native("at::_ops::conv2d::call", LIBTORCH, 0x3f0110),
                        python("forward", "/job/model.py", 88), *forward], 3 * MB, 3.2 * MB, 900 * MB),
        ("malloc", "", [*empty, native("", LIBTORCH, 0x4f0110), *forward], 4 * MB, 3.5 * MB, 70 * MB),
        ("mapped", "", [native("load_shard", "/job/fastload.so", 0x1234, "/job/fastload.c", 31),
                        python("batches", "/job/data.py", 12), TRAIN, MAIN], 8 * MB, 8 * MB, 8 * MB),
        ("python", "", [CALL, python("feed", "<frozen importlib._bootstrap>", 241), MAIN], 0, MB, MB),
    ]


def hostile_sites():
    names = ["</script><script>alert(1)</script>", "\"&'<>]]>", "a;b c;d 7", "\x01\x02\x1b[31m", "x" * 10000,
             "\u202etrain", "\ufffe\uffff", "na\u00efve \u8bad\u7ec3 \U0001f525", "%s%n", "line\nbreak\ttab", ""]
    return [("malloc", "", [python(name, "/job/%s.py" % name, 7), native(name, "/lib/" + name, 64),
                            python("f", "", 0)], 0, (20 - i) * MB, 30 * MB)
            for i, name in enumerate(names)]


def wide_sites():
    return [("malloc", "", [native("std::vector<float>::grow_%d_%d(int)" % (i, k),
                                   "/job/lib%d.so" % (i % 7), 4096 * i + k) for k in range(60)],
             0, MB * (200 + i), MB * 500) for i in range(200)]


def endless_sites():
    """A function that calls itself as often as a stack is deep, and two that call each other."""
    alone = [python("walk", "/job/tree.py", 12)] * 250
    in_turn = [python(name, "/job/tree.py", line) for name, line in (("left", 20), ("right", 30))] * 120
    return [("python", "", [*frames, TRAIN, MAIN], 0, 8 * MB, 9 * MB) for frames in (alone, in_turn)]


def points(sites, seconds):
    """The looks at bytes that grow evenly between the first look and the last."""
    text = record("point", "%.3f" % seconds[0], 0, 0, 0, 0, 0)
    for k in range(1, LOOKS):
        share = (k - 1) / (LOOKS - 2)
        first, last, allocated = (sum(s[i] for s in sites) for i in (3, 4, 5))
        now = first + share * (last - first)
        error = math.sqrt(max(now, 1) * INTERVAL)
        text += record("point", "%.3f" % seconds[k], round(now), round(error),
                       round(max(now, allocated * k / (LOOKS - 1))), round(min(now, first)),
                       round(math.sqrt(min(now, first) * INTERVAL)))
    return text


def sites_text(sites, end):
    seconds = [0.5 + (end - 0.5) * k / (LOOKS - 1) for k in range(LOOKS)]
    text = "tidemark sites 1\n"
    text += record("sampling", "%.3f" % seconds[0], "%.3f" % end, INTERVAL, 300000, 2 * MB)
    text += record("counts", 1500, 3, 3 * INTERVAL, 12, 0, "0.012", 1, 1)
    text += points(sites, seconds)
    for site in sites:
        kind, device, frames, _, last, allocated = site
        text += record("site", kind, device, round(allocated / INTERVAL), round(last / INTERVAL), 0, round(last / 8192))
        text += "".join(record("frame", *frame) for frame in frames)
        text += points([site], seconds)
        text += record("cohorts", *[round(last / COHORTS)] * COHORTS)
    return text


def main():
    db = sqlite3.connect(sys.argv[1])
    how = sys.argv[2] if len(sys.argv) > 2 else "loop"
    db.execute("CREATE TABLE IF NOT EXISTS sites (process INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    process, = db.execute(
        "SELECT process FROM series WHERE kind = 'host.anon' AND process IS NOT NULL").fetchone()
    end, = db.execute("SELECT max(seconds) FROM sample").fetchone()
    sites = {"hostile": hostile_sites, "wide": wide_sites, "endless": endless_sites}.get(how, loop_sites)()
    text = sites_text(sites, end)
    db.execute("INSERT OR REPLACE INTO sites VALUES (?, ?)", (process, text))
    if how == "two":
        db.execute("INSERT INTO process SELECT 99, 31030, start, pid, 'data worker', NULL, command, why,"
                   " first_seconds, last_seconds, NULL FROM process WHERE id = ?", (process,))
        worker = sites[:2] + [("device", "cuda:0", [TRAIN, MAIN], 0, 6 * MB, 6 * MB)]
        db.execute("INSERT OR REPLACE INTO sites VALUES (99, ?)", (sites_text(worker, end),))
    db.commit()


if __name__ == "__main__":
    main()
