"""What the tests with frameworks share: what a watcher is told, programs of their own, two ranks."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import textwrap
import unittest.mock

from support import run_python
from tidemark.integrations import _shared

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 300


def run_program(program, *arguments, **environment):
    """Of the folder of these tests: (exit status, what it printed)."""
    prelude = f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
    return run_python(prelude + textwrap.dedent(program), *arguments, **environment)


def event_values(folder):
    """What TensorBoard will show: {tag: [(step, value)]}."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    values = {}
    for file in pathlib.Path(folder).rglob("events.out.tfevents.*"):
        events = EventAccumulator(str(file), size_guidance={"scalars": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            values.setdefault(tag, []).extend((e.step, e.value) for e in events.Scalars(tag))
    return values


@contextlib.contextmanager
def phases(into):
    """Adds "begin NAME" and "end NAME" to the list as the watcher is told them."""
    kind = _shared._TrainingWatcher
    begin, end = kind.phase_begin, kind.phase_end

    def phase_begin(self, name):
        into.append(f"begin {name}")
        begin(self, name)

    def phase_end(self, name):
        into.append(f"end {name}")
        end(self, name)

    with unittest.mock.patch.multiple(kind, phase_begin=phase_begin, phase_end=phase_end):
        yield into


def run_ranks(program, folder, count=2):
    """[(exit status, what it printed)], by rank; they find each other through the environment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    prelude = f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
    running = []
    for rank in range(count):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
                       "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "CUDA_VISIBLE_DEVICES": ""}
        with (folder / f"rank{rank}.txt").open("w") as out:
            running.append(subprocess.Popen(
                [sys.executable, "-c", prelude + textwrap.dedent(program)], stdout=out,
                stderr=subprocess.STDOUT, env=environment, cwd=folder))
    codes = [process.wait(SECONDS) for process in running]
    return [(code, (folder / f"rank{rank}.txt").read_text()) for rank, code in enumerate(codes)]
