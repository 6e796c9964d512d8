"""What the cases of this folder share: servers, clients of HTTP, runs to show.

A case is a function of a Desk; it raises Failed, or Skipped with the reason. Its first line of
documentation says what holds. Requests go to 127.0.0.1 alone.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from runner import Failed, Skipped
from runner import expect as check

TIMEOUT = 60  # what is slow by itself is slower on a busy machine
NULL = subprocess.DEVNULL


def equal(got, wanted, what, *more):
    check(got == wanted, "%s: %r, not %r" % (what, got, wanted), *more)


def wait_until(condition, what, seconds=TIMEOUT):
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        check(time.monotonic() < end, "in vain waited for " + what)
        time.sleep(0.05)


def resident_kb(pid):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def faults_of_children(pid):
    """Page faults of the children that it has waited for: each one that ends adds some."""
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return int(fields[8])


def children_of(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text()
        return [int(p) for p in text.split()]
    return []


def is_there(pid):
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/%d/stat" % pid).read_text()
        return text.rpartition(")")[2].split()[0] != "Z"
    return False


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Site:
    """A server, as its clients see it."""

    def __init__(self, port):
        self.port = port

    def get(self, path, method="GET", **headers):
        """Header names with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            named = {k.replace("_", "-"): v for k, v in headers.items()}
            connection.request(method, path, headers=named)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)

    def raw(self, data):
        """The bytes that come back until the server closes."""
        with self.connect() as s:
            with contextlib.suppress(ConnectionError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            return read_all(s)

    def events(self, path, **headers):
        return Events(self, path, headers)

    def is_well(self):
        return self.get("/healthz").status == 200


def read_all(s):
    data = b""
    with contextlib.suppress(ConnectionError):
        while piece := s.recv(65536):
            data += piece
    return data


class Events:
    """A stream of server-sent events."""

    def __init__(self, site, path, headers):
        self.socket = site.connect()
        lines = ["GET %s HTTP/1.1" % path, "Host: localhost"]
        lines += ["%s: %s" % (k.replace("_", "-"), v) for k, v in headers.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = http.client.parse_headers(self.file)

    def __iter__(self):
        """The names of events, until the server closes."""
        for line in self.file:
            if line.startswith(b"event: "):
                yield line[7:].strip().decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Server(Site):
    """`tidemark serve` with its process."""

    def __init__(self, command, cwd, **more):
        self.process = subprocess.Popen(command, cwd=cwd, **more, stdin=NULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://.*:(\d+)/", self.address)
        if not found:
            raise Failed("no address: %r %s" % (self.address, self.process.communicate()[1]))
        super().__init__(int(found.group(1)))
        self.pid = self.process.pid

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        said = self.process.communicate(timeout=TIMEOUT)[1]
        return self.process.returncode, said


class Desk:
    """Where a case works: a folder of its own, and what it started."""

    recorded = {}  # run files that are made once for all cases

    def __init__(self, tidemark):
        self.tidemark = pathlib.Path(tidemark)
        self.exits = contextlib.ExitStack()
        self.folder = pathlib.Path(self.exits.enter_context(tempfile.TemporaryDirectory()))
        self.folder.chmod(0o755)
        self.runs = self.folder / "runs"
        self.runs.mkdir()

    def leaking(self, steps=700, milliseconds=3):
        program = self.tidemark.parent / "tests" / "workloads" / "leak_one_of_eight"
        return [str(program), "--steps", str(steps), "--step-ms", str(milliseconds)]

    def put(self, name, kind="leak"):
        """A recorded run in the folder of runs."""
        path = self.runs / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(self.recorded[kind], path)
        return path

    def serve(self, *arguments, **more):
        server = Server([str(self.tidemark), "serve", *map(str, arguments)], self.folder, **more)
        self.exits.callback(server.process.stdout.close)
        self.exits.callback(server.process.stderr.close)
        self.exits.callback(server.process.wait)
        self.exits.callback(server.process.kill)
        return server

    def start(self, command, **more):
        """Goes on; it is killed at the end of the case."""
        more = {"stdin": NULL, "stdout": NULL, "stderr": NULL, "cwd": self.folder, **more}
        process = subprocess.Popen(list(map(str, command)), start_new_session=True, **more)
        self.exits.callback(process.wait)
        self.exits.callback(end_session, process)
        return process

    def run(self, *command, **more):
        more = {"stdin": NULL, "capture_output": True, "cwd": self.folder, **more}
        return subprocess.run(list(map(str, command)), timeout=TIMEOUT, **more)

    def live(self, command, *options):
        """A watched command with --ui: (its process, its page)."""
        errors = self.folder / "errors"
        with open(errors, "wb") as file:
            process = self.start([self.tidemark, "run", "--ui", "--quiet", "-o",
                                  self.runs / "live.tide", *options, "--", *command], stderr=file)
        said = lambda: re.search(r"live page: http://127.0.0.1:(\d+)/", errors.read_text())
        return process, Site(int(wait_until(said, "the address").group(1)))


def end_session(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def record(tidemark, folder):
    """The runs that cases show: one that leaks, one that does not."""
    desk = Desk(tidemark)
    for kind, command in (("leak", desk.leaking(500, 2)), ("short", ["sleep", "0.3"])):
        Desk.recorded[kind] = pathlib.Path(folder) / (kind + ".tide")
        done = desk.run(tidemark, "run", "--quiet", "-o", Desk.recorded[kind], "--", *command)
        check(done.returncode == 0, "recording", done.stderr)
    desk.exits.close()
