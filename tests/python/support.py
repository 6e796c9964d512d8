"""What the tests of the package share."""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


class Case(unittest.TestCase):
    maxDiff = None

    def folder(self):
        """A new folder, gone after the test."""
        folder = tempfile.TemporaryDirectory(prefix="tidemark-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    @contextlib.contextmanager
    def warned(self, *words):
        """Exactly one warning comes, with these words in it, at a line of the test."""
        with self.warnings() as seen:
            yield
        self.assertEqual(len(seen), 1, [str(w.message) for w in seen])
        for word in words:
            self.assertIn(word, str(seen[0].message))

    @contextlib.contextmanager
    def warnings(self):
        """Those that come, each at a line of the test."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield seen
        test = sys.modules[type(self).__module__].__file__
        self.assertEqual({w.filename for w in seen}, {test} if seen else set())


@contextlib.contextmanager
def output():
    """What is printed, as io.StringIO."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        yield out


@contextlib.contextmanager
def raising_signal(error, handler=None):
    """A function that sends this process a signal whose handler raises."""
    def raises(number, frame):
        raise error

    before = signal.signal(signal.SIGUSR1, handler or raises)
    try:
        yield lambda *_, **__: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def run_python(program, *arguments, cwd=None, **environment):
    """A program's text in a process of its own: what it printed, stderr after stdout."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, text=True,
                          env={**os.environ, **environment}, timeout=120)
    return done.returncode, done.stdout


try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipUnless(torch, "no torch in this interpreter")
