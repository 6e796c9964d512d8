#!/usr/bin/env python3
"""What the live page costs: the watcher with and without viewers, the server, and a document.

  bench/serve.py build                   # what `make bench` runs: about a minute
  bench/serve.py build --seconds 60 --viewers 500

A job of nine processes runs under `tidemark run`, with --ui and without. A viewer does what the page
does: it keeps a stream of events open, and fetches the document at every change, at most every two
seconds. CPU time is the scheduler's. All of it is on 127.0.0.1.
"""

import argparse
import asyncio
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from watch import cpu_seconds, peak_mb

WARM_SECONDS = 4
PAGE_SECONDS = 2  # a page fetches at most so often
ASKED = "asked for: documents at about 5 % of a core; a watcher that does not notice its viewers"


# ---- viewers ----


async def fetch(port, path):
    """(bytes of the answer)"""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
    data = await reader.read()
    writer.close()
    return data


async def listen(port, run, changed):
    """The events of a run: sets `changed` at each, until the stream ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET %sevents HTTP/1.1\r\nHost: localhost\r\n\r\n" % run)
    async for line in reader:
        if line.startswith(b"event: "):
            changed.set()


async def view(port, run, count):
    """A page that is open: several changes are one while it waits."""
    changed = asyncio.Event()
    events = asyncio.create_task(listen(port, run, changed))
    while not (events.done() and not changed.is_set()):
        await asyncio.wait([events, asyncio.create_task(changed.wait())],
                           return_when=asyncio.FIRST_COMPLETED)
        if changed.is_set():
            changed.clear()
            await fetch(port, run + b"data.json")
            count[0] += 1
            await asyncio.sleep(PAGE_SECONDS)


def be_viewers(port, run, viewers):
    """In a process of its own: its work is not the server's."""
    count = [0]

    async def all_of_them():
        await asyncio.gather(*(view(port, run.encode(), count) for _ in range(viewers)))

    asyncio.run(all_of_them())
    print(count[0])


# ---- what is measured ----


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def server_of(watcher):
    return next((p for p in children(watcher) if os.getsid(p) == p), None)


def with_readers(pid):
    """CPU seconds of the server, and of the readers that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return cpu_seconds(pid), (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def measure_watcher(options, tidemark, ui, viewers):
    """A row: percent of a core of the watcher, the server and its readers; documents a second."""
    job = tidemark.parent / "tests" / "workloads" / "leak_one_of_eight"
    steps = (WARM_SECONDS + options.seconds + 4) * 100
    with tempfile.TemporaryDirectory() as folder:
        command = [tidemark, "run", *ui, "--quiet", "-o", "live.tide", "--", job, "--steps", str(steps),
                   "--step-ms", "10"]
        watcher = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        seen = None
        if ui:
            port = next(m[1] for m in (re.search(r"127.0.0.1:(\d+)/", l) for l in watcher.stderr) if m)
            time.sleep(1)
            if viewers:
                seen = subprocess.Popen([sys.executable, __file__, "--be-viewers", port, str(viewers)],
                                        stdout=subprocess.PIPE, text=True)
        time.sleep(WARM_SECONDS)
        row = window(watcher.pid, options.seconds)
        watcher.communicate()
        return row, int(seen.communicate()[0]) / (steps / 100) if seen else 0


def window(watcher, seconds):
    server = server_of(watcher)
    before = cpu_seconds(watcher), *(with_readers(server) if server else (0, 0))
    begin = time.monotonic()
    time.sleep(seconds)
    after = cpu_seconds(watcher), *(with_readers(server) if server else (0, 0))
    passed = time.monotonic() - begin
    return [100 * (b - a) / passed for a, b in zip(before, after)] + [peak_mb(server) if server else 0]


def measure_document(tidemark, run):
    """(KB of the document, ms until it is computed, ms from the cache)."""
    with subprocess.Popen([tidemark, "serve", run], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as server:
        port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
        path = f"/runs/{run.name}/data.json".encode()
        times = []
        for _ in range(20):
            begin = time.monotonic()
            data = asyncio.run(fetch(port, path))
            times.append(1000 * (time.monotonic() - begin))
        server.terminate()
    return len(data) / 1024, times[0], statistics.median(times[1:])


def record(tidemark, folder):
    """Run files of a short run, and of one with many samples."""
    job = tidemark.parent / "tests" / "workloads" / "leak_one_of_eight"
    for name, steps, interval in (("short.tide", 300, "0.02"), ("long.tide", 3000, "0.005")):
        subprocess.run([tidemark, "run", "--quiet", "--interval", interval, "-o", folder / name, "--",
                        job, "--steps", str(steps), "--step-ms", "5"], capture_output=True, check=True)
        yield folder / name


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--be-viewers", nargs=2, metavar=("PORT", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be_viewers:
        be_viewers(int(options.be_viewers[0]), "/runs/live.tide/", int(options.be_viewers[1]))
        return
    tidemark = pathlib.Path(options.build).resolve() / "tidemark"
    print(f"A job of 9 processes under tidemark run, {options.seconds} s; % of a core\n")
    print(f"{'':34} {'watcher':>10} {'server':>10} {'readers':>10} {'MB':>10} {'doc./s':>10}")
    for name, ui, viewers in (("without --ui", [], 0), ("--ui, nobody looks", ["--ui"], 0),
                              ("--ui, one viewer", ["--ui"], 1),
                              (f"--ui, {options.viewers} viewers", ["--ui"], options.viewers)):
        (watcher, server, readers, peak), fetched = measure_watcher(options, tidemark, ui, viewers)
        print(f"{name:34} {watcher:10.2f} {server:10.2f} {readers:10.2f} {peak:10.1f} {fetched:10.1f}")
    print(f"\n{'a document':34} {'KB':>10} {'computed':>10} {'cached':>10}  ms until it is there")
    with tempfile.TemporaryDirectory() as folder:
        for run in record(tidemark, pathlib.Path(folder)):
            size, first, again = measure_document(tidemark, run)
            print(f"{run.name:34} {size:10.0f} {first:10.1f} {again:10.1f}")
    print("\n" + ASKED)


if __name__ == "__main__":
    main()
