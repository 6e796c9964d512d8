"""Clients that mean no good, and files that are none."""

import contextlib
import os
import random
import socket
import time

from server import TIMEOUT, check, children_of, equal, read_all, resident_kb, wait_until

SEED = 20261119
REQUESTS = 10000
GROWTH_KB = 8192


def _garbage(r):
    """One hostile request, as bytes."""
    host = b"Host: localhost\r\n"
    noise = lambda n: bytes(r.randrange(256) for _ in range(r.randrange(n)))
    path = r.choice([b"/", b"/data.json", b"/runs/a.tide/data.json", b"/events", b"/page.js"])
    ways = [
        lambda: noise(200),
        lambda: noise(60) + b"\r\n\r\n",
        lambda: b"GET " + path + b" HTTP/1.1\r\n" + host + noise(300) + b"\r\n\r\n",
        lambda: b"GET /" + b"A" * r.randrange(20000) + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"X: " + b"y" * r.randrange(20000) + b"\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * r.randrange(2000) + b"\r\n",
        lambda: r.choice([b"POST", b"PUT", b"CONNECT", b"\x16\x03\x01", b"PRI"]) + b" " + path +
        b" HTTP/1.1\r\n" + host + b"Content-Length: 99999999999\r\n\r\n" + noise(500),
        lambda: b"GET " + path + b" HTTP/" + r.choice([b"0.9", b"2.0", b"1.1.1", b"9"]) + b"\r\n\r\n",
        lambda: b"GET /runs/" + r.choice([b"../", b"%2e%2e/", b"..%2f", b"%00", b"%", b"%zz", b"//"])
        * r.randrange(1, 20) + b"etc/passwd HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET " + path + b" HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://evil.com\r\n\r\n",
        lambda: b"GET " + path + b" HTTP/1.1\r\n" + host + host + b"\r\n",
        lambda: (b"GET " + path + b" HTTP/1.1\r\n" + host + b"\r\n") * r.randrange(1, 40),
        lambda: (b"GET / HTTP/1.1\r\n" + host + b"\r\n")[:r.randrange(1, 35)],
        lambda: b"GET /runs/a.tide/span.json?series=%d&from=%d&to=%d&points=%d HTTP/1.1\r\n" % (
            r.randrange(-3, 50), r.randrange(-9, 9), r.randrange(-9, 9999), r.randrange(-1, 99999))
        + host + b"\r\n",
        lambda: b"GET /runs/%d.tide/ HTTP/1.1\r\n" % r.randrange(10 ** 9) + host + b"\r\n",
    ]
    return r.choice(ways)()


def _throw(server, r):
    with server.connect() as s, contextlib.suppress(OSError):
        s.sendall(_garbage(r))
        how = r.random()
        if how < 0.4:
            s.shutdown(socket.SHUT_WR)
        if how < 0.5:
            s.settimeout(0.02)
            while s.recv(65536):
                pass


def ten_thousand_hostile_requests(d):
    """The server answers as before, and has grown by little more than what it may keep."""
    d.put("a.tide")
    server = d.serve("runs")
    r = random.Random(SEED)
    for _ in range(REQUESTS // 10):
        _throw(server, r)
    before = resident_kb(server.pid)
    for _ in range(REQUESTS):
        _throw(server, r)
    check(server.is_well(), "healthz")
    equal(server.get("/runs/a.tide/data.json").json["answer"]["verdict"], "leak", "verdict")
    grown = resident_kb(server.pid) - before
    check(grown < GROWTH_KB, "it has grown by %d KB" % grown)
    return "seed %d: %d KB, grown by %d KB" % (SEED, before, grown)


def clients_that_say_little(d):
    """Heads that come byte by byte, or never: closed in time, and others are answered meanwhile."""
    server = d.serve("runs")
    slow = [server.connect() for _ in range(300)]
    for i, s in enumerate(slow):
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "[:i % 40])
        s.setblocking(False)
    equal(server.get("/data.json").status, 200, "status")
    left, end = set(slow), time.monotonic() + TIMEOUT
    while left:
        check(time.monotonic() < end, "%d slow clients are still there" % len(left))
        left = {s for s in left if not _is_closed(s)}
        time.sleep(0.5)
    for s in slow:
        s.close()
    check(server.is_well(), "healthz")


def _is_closed(s):
    """Sends another byte, as a slow client does."""
    try:
        s.send(b"a")
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def clients_that_do_not_read(d):
    """Answers that nobody takes cost a bounded memory and time; streams too."""
    d.put("a.tide")
    server = d.serve("runs")
    server.get("/runs/a.tide/data.json")
    before = resident_kb(server.pid)
    stuck = []
    for i in range(300):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", server.port))
        path = b"/events" if i % 3 == 0 else b"/runs/a.tide/data.json"
        s.sendall((b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n") * 20)
        stuck.append(s)
    for i in range(20):
        (d.runs / ("new%d.tide" % i)).write_text("no run")
        equal(server.get("/data.json").status, 200, "status")
        time.sleep(0.1)
    grown = resident_kb(server.pid) - before
    for s in stuck:
        s.close()
    check(grown < GROWTH_KB, "it has grown by %d KB" % grown)
    check(server.is_well(), "healthz")
    return "300 clients: %d KB" % grown


def more_clients_than_there_is_room_for(d):
    """Whoever is silent makes room for whoever asks."""
    server = d.serve("runs")
    silent = []
    with contextlib.suppress(OSError):  # of this process: too many open files
        for _ in range(2300):
            silent.append(server.connect())
    for s in silent[-20:]:
        s.close()
    for _ in range(30):
        equal(server.get("/healthz").status, 200, "status")
    for s in silent:
        s.close()
    return "%d silent clients" % len(silent)


def files_that_are_no_runs(d):
    """Damaged in every way, they are listed with what is wrong, and never end the server."""
    r = random.Random(SEED)
    whole = d.recorded["leak"].read_bytes()
    for i in range(40):
        data = bytearray(whole[:r.randrange(100, len(whole))] if i % 2 else whole)
        for _ in range(r.randrange(1, 60)):
            data[r.randrange(len(data))] = r.randrange(256)
        (d.runs / ("%d.tide" % i)).write_bytes(data)
    (d.runs / "empty.tide").write_bytes(b"")
    (d.runs / "text.tide").write_text("step 1: 5 MB\n")
    server = d.serve("runs")
    runs = server.get("/data.json").json["runs"]
    equal(len(runs), 42, "runs")
    named = {run["name"]: run for run in runs}
    check(named["text.tide"]["error"] and named["empty.tide"]["error"], "errors", named)
    for run in runs:
        for part in ("", "data.json", "answer.json"):
            status = server.get("/" + run["href"] + part).status
            check(status in (200, 422), "%s%s: %d" % (run["href"], part, status))
    check(server.is_well(), "healthz")
    wait_until(lambda: not children_of(server.pid), "the readers' end")


def a_reader_that_hangs_or_dies(d):
    """Costs its own answer: a killed reader is reported, and the next one works."""
    path = d.put("a.tide")
    server = d.serve("runs")
    server.get("/data.json")
    for _ in range(5):
        os.utime(path)
        with server.connect() as s:
            s.sendall(b"GET /runs/a.tide/data.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            for child in children_of(server.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, 9)
            check(read_all(s).split()[1] in (b"200", b"422"), "status")
    check(server.is_well(), "healthz")
