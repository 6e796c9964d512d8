"""Run files that the page is tried on: real recordings, and hostile ones made of them."""
import lzma
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
MARKUP = "<img src=x onerror=\"window.hacked=1\">"
SCRIPT = "</script><script>window.hacked=1</script><!--"
QUOTES = "\"'><svg onload=window.hacked=1> javascript:window.hacked=1 \u202e\x1b[2J ${window.hacked=1}"

RECORDED = {
    "leak": "golden/leak_rank.tide.xz", "device": "golden/leak_device.tide.xz",
    "killed": "golden/oom_killed.tide.xz", "failed": "golden/failed.tide.xz",
    "calm": "recordings/plain_training.tide.xz", "spikes": "recordings/evaluations.tide.xz",
    "fills": "recordings/bounded_cache_fills.tide.xz", "workers": "recordings/workers_fill.tide.xz",
}


def unpack(folder):
    for name, path in RECORDED.items():
        (folder / (name + ".tide")).write_bytes(lzma.decompress((TESTS / path).read_bytes()))
    for name in ("loop", "hostile"):  # with sites of a tracer
        path = folder / ("traced-%s.tide" % name)
        shutil.copy(TESTS / "cli/data/leak.tide", path)
        path.chmod(0o600)
        subprocess.run([sys.executable, TESTS / "cli/data/traced.py", path, name], check=True)


def changed(folder, source, name, *statements):
    """A copy of a run file, without its final answer, after some SQL."""
    path = folder / (name + ".tide")
    shutil.copy(folder / (source + ".tide"), path)
    path.chmod(0o600)
    db = sqlite3.connect(path)
    db.execute("DELETE FROM answer")
    for sql, *values in statements:
        db.executemany(sql, values[0]) if values else db.execute(sql)
    db.commit()
    db.close()


def many(folder, count=300):
    """A run of so many processes, each with a series of its own."""
    processes = [(1000 + i, 5000 + i, i, "data worker", i, "worker %d %s" % (i, MARKUP), 0.1, 60.0) for i in range(count)]
    series = [(10000 + i, 1000 + i, "host.anon", "bytes") for i in range(count)]
    samples = [(0.5 * t, 10000 + i, float((20 << 20) + (t * 40000 if i == 7 else 0) + 4096 * (i % 5)))
               for i in range(count) for t in range(120)]
    changed(folder, "calm", "many",
            ("INSERT INTO process (id, pid, start, role, rank, command, first_seconds, last_seconds) "
             "VALUES (?, ?, ?, ?, ?, ?, ?, ?)", processes),
            ("INSERT INTO series (id, process, kind, unit) VALUES (?, ?, ?, ?)", series),
            ("INSERT INTO sample (seconds, series, value) VALUES (?, ?, ?)", samples))


def make(folder):
    folder = pathlib.Path(folder)
    os.makedirs(folder, exist_ok=True)
    unpack(folder)
    changed(folder, "leak", "markup",
            ("UPDATE run SET command = ?, title = ?, host = ?", [(SCRIPT, SCRIPT + MARKUP + QUOTES, MARKUP)]),
            ("UPDATE process SET command = ?, role = ?", [(SCRIPT + MARKUP, "<b>rank</b>" + QUOTES)]),
            ("UPDATE series SET name = ?, device = ?", [(SCRIPT, MARKUP)]),
            ("UPDATE event SET text = ?, what = ?", [(SCRIPT + QUOTES, MARKUP)]),
            ("UPDATE census SET text = replace(text, 'features', ?)", [(MARKUP,)]))
    changed(folder, "leak", "no-steps", ("DELETE FROM mark",))
    changed(folder, "calm", "one-sample",
            ("DELETE FROM sample WHERE seconds > (SELECT min(seconds) FROM sample)",),
            ("DELETE FROM block",), ("DELETE FROM census",), ("DELETE FROM look",))
    changed(folder, "calm", "nothing", ("DELETE FROM sample",), ("DELETE FROM block",), ("DELETE FROM mark",),
            ("DELETE FROM census",), ("DELETE FROM look",), ("DELETE FROM event",))
    many(folder)


def write_pages(tidemark, folder):
    """Each run as a page, and its document; {name: why not} of those that could not be written."""
    folder, failed = pathlib.Path(folder), {}
    for run in sorted(folder.glob("*.tide")):
        for ending, options in ((".html", []), (".json", ["--json"])):
            out = run.with_suffix(ending)
            out.unlink(missing_ok=True)
            done = subprocess.run([tidemark, "report", *options, run, "-o", out], capture_output=True, text=True,
                                  errors="replace")
            if done.returncode:
                failed[run.stem] = done.stderr
    out = folder / "comparison.html"
    out.unlink(missing_ok=True)
    done = subprocess.run([tidemark, "compare", folder / "leak.tide", folder / "calm.tide", "--html", "-o", out],
                          capture_output=True, text=True)
    if not out.exists():
        failed["comparison"] = done.stderr
    return failed
