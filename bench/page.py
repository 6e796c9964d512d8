#!/usr/bin/env python3
"""bench/page.py BUILD: how long the page takes in a real Chromium, with a million samples in a series.

The run file is made up: one process that leaks, with spikes, for a day. Times are medians of seven,
in ms, until the browser has drawn. Needs Chromium, node and npm.
"""
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLES = 1_000_000
SECONDS = 86400


def rows(series):
    dice = random.Random(1)
    for i in range(SAMPLES):
        spike = 400 << 20 if i % 50000 < 400 else 0
        yield SECONDS * i / SAMPLES, series, float((1 << 30) + 300 * i + dice.randrange(50 << 20) + spike)


def make(path):
    """A recording of one process, with its samples replaced."""
    shutil.copy(ROOT / "tests/cli/data/leak.tide", path)
    path.chmod(0o600)
    db = sqlite3.connect(path)
    series = db.execute("SELECT id FROM series WHERE kind = 'host.anon' AND process IS NOT NULL").fetchone()[0]
    there = {name for name, in db.execute("SELECT name FROM sqlite_master")}
    for table in there & {"answer", "sample", "block", "census", "look", "mark", "event"}:
        db.execute("DELETE FROM " + table)
    db.executemany("INSERT INTO sample (seconds, series, value) VALUES (?, ?, ?)", rows(series))
    db.executemany("INSERT INTO mark (seconds, step) VALUES (?, ?)", ((SECONDS * i / 20000, 10 * i) for i in range(20001)))
    db.execute("UPDATE process SET last_seconds = ?", (SECONDS,))
    db.commit()
    db.close()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tidemark = pathlib.Path(sys.argv[1]).resolve() / "tidemark"
    web = ROOT / "web"
    if not (web / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=web, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        run, page = pathlib.Path(folder) / "million.tide", pathlib.Path(folder) / "million.html"
        make(run)
        start = time.monotonic()
        subprocess.run([tidemark, "report", run, "-o", page], check=True, stderr=subprocess.DEVNULL)
        print("tidemark report, %d samples: %.1f s, a page of %d KB" % (SAMPLES, time.monotonic() - start,
                                                                         page.stat().st_size >> 10))
        done = subprocess.run(["node", "bench/bench.mjs", page], cwd=web, check=True, capture_output=True, text=True)
    print("%-42s %12s %8s %8s" % ("ms until drawn", "first paint", "zoom", "pan"))
    for line in done.stdout.splitlines():
        row = json.loads(line)
        cells = ["%.0f" % row[k] if k in row else "" for k in ("first", "zoom", "pan")]
        print("%-42s %12s %8s %8s" % (row["what"], *cells))


if __name__ == "__main__":
    main()
