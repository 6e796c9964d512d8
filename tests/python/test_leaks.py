"""Programs with known truth: they leak, or they do not."""

import contextlib
import io
import re
import subprocess
import sys
import textwrap

import tidemark
from support import Case, run_python
from tidemark import Verdict
from tidemark._advice import advice
from tidemark.integrations import _shared

PROGRAM = """
    import json, sys, time, tidemark
    kept = []
    w = tidemark.Watcher(print_every=100, on_leak=lambda v: print("told:", v.kind, round(v.rate)))
    for epoch in range(2):
        for i in range(1000):
            block = bytearray(65536)
            block[::4096] = b"x" * 16
            if sys.argv[1] == "leak":
                kept.append(block)
            time.sleep(0.002)
            w.step(0.5)
        w.epoch_end()
    print("answer:", w.verdict("host.anon").answer)
    print("cause:", *(f["cause"] for f in json.loads(w.json())["findings"]))
    """

TWICE = """
    import time, tidemark
    first, second = [], []
    for kept in first, second:
        w = tidemark.Watcher(print_every=0)
        for i in range(1500):
            kept.append(bytearray(65536))
            time.sleep(0.002)
            w.step(0.5)
        w.close()
        print("of", kept is second, w.report())
    """


OPEN = """
    import time, tidemark
    kept = []
    w = tidemark.Watcher(print_every=500, epoch_steps=1500)
    for i in range(2000):
        kept.append(bytearray(65536))
        time.sleep(0.001)
        w.step(0.5)
    w.close()
    """


class KnownTruth(Case):
    def test_64_KB_a_step_is_called_a_leak_within_the_epoch(self):
        code, said = run_python(PROGRAM, "leak")
        self.assertEqual(code, 0, said)
        first_epoch = said[:said.index("✓ Epoch 1")]
        warned = re.findall(r"WARNING: step (\d+): LEAK .*host\.anon grows (\d+\.\d) KB/step",
                            first_epoch)
        self.assertEqual(len(warned), 1, said)
        self.assertAlmostEqual(float(warned[0][1]), 64, delta=2)
        self.assertEqual(said.count("WARNING"), 1, said)  # once
        held = (r"Held by(?: \(known at step \d+\))?: list `kept`, a global: \+1\.\d\d items a step "
                r"\(bytearray\), about 6\d\.\d KB of host memory a step: ")
        self.assertRegex(first_epoch, held)
        self.assertRegex(said[said.index("Epoch 2 Summary"):], r"Verdict: LEAK.*\n   " + held)
        self.assertIn("cause: growing-container", said)
        told = re.findall(r"told: (\S+) (\d+)", said)
        self.assertEqual([kind for kind, _ in told], ["host.anon"])
        self.assertIn("answer: leak", said)

    def test_each_training_of_a_program_has_its_own(self):
        code, said = run_python(TWICE)
        self.assertEqual(code, 0, said)
        first, second = said[said.index("of False"):].split("of True")
        for report, name, other in (first, "first", "second"), (second, "second", "first"):
            self.assertIn(f"`{name}`: +1.00 items a step", report)
            self.assertNotIn(f"`{other}`", report)

    def test_under_run_there_is_one_voice(self):
        """That of `tidemark run`, unless it is to be quiet."""
        for options, outside, inside in ((), 1, 0), (("--quiet",), 0, 1):
            with self.subTest(options=options):
                done = subprocess.run(
                    [sys.executable, "-m", "tidemark", "run", "--no-store", *options, "--",
                     sys.executable, "-c", textwrap.dedent(PROGRAM), "leak"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = re.findall(r"(?m)^tidemark: LEAK .*host\.anon", done.stderr)
                self.assertEqual(len(told), outside, done.stderr)
                self.assertEqual(done.stdout.count("WARNING"), inside, done.stdout)
                self.assertEqual(done.stdout.count("told: host.anon"), 1, done.stdout)
                self.assertIn("answer: leak", done.stdout)
                # The probe searches for the watcher outside, and the one inside reads what it found.
                self.assertRegex(done.stdout[done.stdout.index("Epoch 2 Summary"):],
                                 r"\n   Held by: list `kept`, a global: \+1\.\d\d items a step")
                self.assertEqual("`kept`" in " ".join(done.stderr.split()), bool(outside),
                                 done.stderr)

    def test_what_grows_so_far_is_named_where_it_is_open(self):
        code, said = run_python(OPEN)
        self.assertEqual(code, 0, said)
        self.assertNotIn("WARNING", said)
        self.assertRegex(said, r"Verdict: INCONCLUSIVE.*\n   Growing so far: list `kept`, a global: "
                               r"\+1\.0\d items a step")

    def test_its_fixed_twin_is_not(self):
        code, said = run_python(PROGRAM, "fixed")
        self.assertNotIn("Held by", said)
        self.assertRegex(said, r"(?m)^cause:$")
        self.assertEqual(code, 0, said)
        self.assertNotIn("WARNING", said)
        self.assertNotIn("told", said)
        self.assertIn("answer: no_leak", said)


class Metrics(Case):
    def test_a_leak_that_was_told_is_logged_at_once(self):
        training = _shared.Training(0, None, None, None, {"print_every": 0})
        self.addCleanup(training.end)
        training._judged = {"memory/leak": 0.0}
        leak = ("leak", "low", 0.99, "host.anon", None, 65536.0, None, None, None, 10, 20, "LEAK")
        training.watcher._on_leaks([leak])
        metrics = training.metrics()
        self.assertEqual(metrics["memory/leak"], 1.0)
        self.assertEqual(metrics["memory/growth_mb_per_step"], 0.0625)

    def test_a_negligible_leak_is_not(self):
        training = _shared.Training(0, None, None, None, {"print_every": 0})
        self.addCleanup(training.end)
        training._judged = {"memory/leak": 0.0}
        leak = ("leak", "negligible", 0.99, "host.anon", None, 264.0, None, None, None, 10, 20,
                "LEAK")
        training.watcher._on_leaks([leak])
        self.assertEqual(training.metrics()["memory/leak"], 0.0)
        training.watcher.verdict = lambda *_: Verdict("leak", "negligible")
        self.assertEqual(training._judge()["memory/leak"], 0.0)
        training.watcher.verdict = lambda *_: Verdict("leak", "low")
        self.assertEqual(training._judge()["memory/leak"], 1.0)


class Warnings(Case):
    LEAK = ("leak", "low", 0.99, "torch.allocated", "cuda:0", 512.0, None, None, None, 10, 20,
            "LEAK (low): torch.allocated cuda:0 grows 512 B/step")

    def said(self, leak=LEAK, **options):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            tidemark.Watcher(**options)._on_leaks([leak])
        return out.getvalue()

    def test_a_leak_is_warned_of_with_what_to_look_at(self):
        self.assertEqual(
            self.said(),
            "⚠️  WARNING: step 0: LEAK (low): torch.allocated cuda:0 grows 512 B/step\n"
            "   Look at: every step keeps one small tensor, the size of a loss: where you "
            "collect losses, collect loss.item()\n")

    def test_not_where_it_is_not_wanted(self):
        self.assertEqual(self.said(warn_on_leak=False), "")
        self.assertEqual(self.said(print_every=0), "")

    NEGLIGIBLE = ("leak", "negligible", 0.99, "host.anon", None, 264.0, None, None, None, 10, 20,
                  "LEAK (negligible): host.anon grows 264 B/step")

    def test_a_negligible_leak_is_one_quiet_line(self):
        told = []
        self.assertEqual(self.said(self.NEGLIGIBLE, on_leak=told.append),
                         "   Step 0: LEAK (negligible): host.anon grows 264 B/step\n")
        self.assertEqual(told, [])
        self.assertEqual(self.said(self.NEGLIGIBLE, warn_on_leak=False), "")
        self.assertEqual(self.said(self.NEGLIGIBLE, print_every=0), "")

    def test_a_negligible_leak_is_logged_as_information(self):
        with self.assertLogs("quiet", "INFO") as logs:
            self.said(self.NEGLIGIBLE, logger="quiet")
        self.assertEqual([r.levelname for r in logs.records], ["INFO"])

    def test_vram_by_limits_where_they_are_given(self):
        self.assertEqual(self.said(leak_threshold_mb=10), "")
        self.assertEqual(self.said(leak_streak_mb=5), "")
        host = self.LEAK[:3] + ("host.anon", None) + self.LEAK[5:]
        self.assertIn("WARNING", self.said(host, leak_threshold_mb=10))

    def test_the_callback_does_not_depend_on_warnings(self):
        told = []
        self.said(warn_on_leak=False, print_every=0, on_leak=told.append)
        self.assertEqual([(v.kind, v.rate) for v in told], [("torch.allocated", 512.0)])

    def test_a_callback_that_fails_does_not_end_training(self):
        with self.warned("ZeroDivisionError", "training goes on"):
            self.said(on_leak=lambda v: 1 / 0)

    def test_a_callback_may_end_the_program(self):
        def stop(v):
            raise SystemExit(3)

        with self.assertRaises(SystemExit):
            self.said(on_leak=stop)

    def test_advice_fits_the_kind(self):
        self.assertIn(".item()", advice(Verdict("leak", kind="torch.allocated", rate=512.0)))
        self.assertIn(".detach()", advice(Verdict("leak", kind="torch.allocated", rate=70000.0)))
        self.assertIn("graph", advice(Verdict("leak", kind="host.anon", rate=15000.0)))
        self.assertIn("closed", advice(Verdict("leak", kind="fds", rate=1.0)))
        self.assertIsNone(advice(Verdict("leak", kind="replay.entries", rate=1.0)))
