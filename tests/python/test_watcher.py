"""What a training loop meets: lines, silence, warnings, bad input, forks, files."""

import copy
import decimal
import functools
import json
import logging
import math
import os
import re
import subprocess
import sys
import time
import types
import weakref

import tidemark
from support import ROOT, Case, needs_torch, output, raising_signal, run_python, torch
from tidemark import _program, _watcher
from tidemark._shield import WarnsOnce, shielded

LINE = re.compile(r"Step +\d+ \| loss=[\d.]+ \| time=\d+\.\d{3}s \| CPU=\d+\.\d% \| RAM=\d+\.\d%$")


def steps(w, count, loss=0.5):
    for _ in range(count):
        w.step(loss)


class Printing(Case):
    def test_a_line_every_n_steps(self):
        with output() as out:
            steps(tidemark.Watcher(print_every=5), 12)
        lines = out.getvalue().splitlines()
        self.assertEqual([line.split()[1] for line in lines], ["5", "10"])
        for line in lines:
            self.assertRegex(line, LINE)

    def test_every_step_at_once(self):
        with output() as out:
            steps(tidemark.Watcher(print_every=1), 3)
        for line in out.getvalue().splitlines():
            self.assertRegex(line, LINE)

    def test_the_time_is_that_of_one_step(self):
        w = tidemark.Watcher(print_every=4)
        with output() as out:
            for _ in range(4):
                begin = time.perf_counter()
                time.sleep(0.03)
                w.step(1.0)
                took = time.perf_counter() - begin
        seconds = float(re.search(r"time=([\d.]+)s", out.getvalue())[1])
        self.assertGreaterEqual(seconds, 0.03)
        self.assertLessEqual(seconds, took + 0.01)

    def test_before_an_average_the_loss_itself(self):
        w = tidemark.Watcher(print_every=2)
        with output() as out:
            w.step(3.0)
            w.step(loss=1.25)
        self.assertIn("loss=1.2500 ", out.getvalue())

    def test_print_every_0_is_silence(self):
        w = tidemark.Watcher(print_every=0)
        with output() as out:
            steps(w, 200)
            w.step(math.nan)
            w.epoch_end()
            w.epoch_end()
            w.close()
        self.assertEqual(out.getvalue(), "")

    def test_a_first_and_a_second_epoch(self):
        w = tidemark.Watcher()
        with output() as out:
            steps(w, 20)
            w.epoch_end()
            steps(w, 20)
            w.epoch_end()
        self.assertEqual(out.getvalue().splitlines()[0], "✓ Epoch 1 complete - baselines set")
        self.assertIn("Epoch 2 Summary:\n   Loss (avg): 0.5000 [stable]\n====", out.getvalue())
        self.assertRegex(out.getvalue(), r"=\n   RAM delta: [+-]\d+\.\dMB\n   verdict: \S.*\n$")

    def test_output_by_a_logger(self):
        w = tidemark.Watcher(print_every=2, logger="a.training")
        with output() as out, self.assertLogs("a.training", "INFO") as logged:
            steps(w, 2)
            w.step(math.inf)
            w.epoch_end()
        self.assertEqual(out.getvalue(), "")
        self.assertEqual([r.levelname for r in logged.records], ["INFO", "WARNING", "INFO"])
        self.assertIs(tidemark.Watcher(logger=logging.root)._logger, logging.root)

    def test_a_terminal_without_unicode(self):
        code, said = run_python("import tidemark; tidemark.Watcher().epoch_end()",
                                PYTHONIOENCODING="ascii")
        self.assertEqual((code, said), (0, "? Epoch 1 complete - baselines set\n"))

    def test_stdout_that_is_closed(self):
        code, said = run_python("""
            import sys, tidemark
            w = tidemark.Watcher(print_every=1)
            sys.stdout.close()
            w.step(1.0)
            sys.stdout = None
            w.step(1.0)
            print(w.step_count, file=sys.stderr)
            """)
        self.assertEqual((code, said), (0, "2\n"))

    def test_a_resumed_training_goes_on_counting(self):
        w = tidemark.Watcher(start_step=50000)
        with output() as out:
            steps(w, 100)
        self.assertEqual(w.step_count, 50100)
        self.assertTrue(out.getvalue().startswith("Step  50100 |"))


class TrainWatchPrograms(Case):
    def test_every_argument_by_place_and_by_name(self):
        with output():
            w = tidemark.Watcher(10, 50, 5, False, False, False, False, "cpu", 10.0, 5.0)
            tidemark.Watcher(window=20, print_every=100, sync_interval=10, show_gpu=True,
                             warn_on_leak=True, warn_on_bottleneck=True, warn_on_variance=True,
                             device="cuda:0", leak_threshold_mb=None, leak_streak_mb=None)
        self.assertEqual((w.window, w.print_every, w.device), (10, 50, "cpu"))

    def test_counts(self):
        w = tidemark.Watcher()
        self.assertEqual((w.step_count, w.epoch_count, w.baselines_set), (0, 0, False))
        with output():
            steps(w, 7)
            w.epoch_end()
        self.assertEqual((w.step_count, w.epoch_count, w.baselines_set), (7, 1, True))

    def test_the_window_holds_the_last_losses(self):
        w = tidemark.Watcher(window=3)
        for i in range(5):
            w.step(float(i))
        self.assertEqual(w.loss_tracker.losses, [2.0, 3.0, 4.0])

    def vram_warnings(self, mb_by_epoch, **limits):
        w = tidemark.Watcher(**limits)
        with output() as out:
            for mb in mb_by_epoch:
                w._vram = lambda mb=mb: mb * 2**20
                w.epoch_end()
        return [line for line in out.getvalue().splitlines() if "WARNING" in line]

    def test_leak_threshold(self):
        self.assertEqual(self.vram_warnings([100, 105, 111]), [])
        warned = self.vram_warnings([100, 105, 111], leak_threshold_mb=10)
        self.assertEqual(len(warned), 1)
        self.assertIn("11.0MB since epoch 1", warned[0])

    def test_leak_streak(self):
        # Growth counts from the third epoch on, and has to happen twice in a row.
        self.assertEqual(self.vram_warnings([100, 106, 112], leak_streak_mb=5), [])
        self.assertEqual(self.vram_warnings([100, 106, 112, 113, 119], leak_streak_mb=5), [])
        self.assertEqual(len(self.vram_warnings([100, 106, 112, 118], leak_streak_mb=5)), 1)


class TheLoss(Case):
    def test_nan_and_inf_are_said_once_a_spell(self):
        w = tidemark.Watcher(window=5)
        with output() as out:
            steps(w, 10)
            steps(w, 3, math.nan)
            steps(w, 20)
            w.step(-math.inf)
        warned = [line for line in out.getvalue().splitlines() if "WARNING" in line]
        self.assertEqual(len(warned), 2)
        self.assertIn("loss is nan at step 11", warned[0])
        self.assertIn("loss is -inf at step 34", warned[1])

    def test_trend(self):
        for losses, trend in [([2.0] * 10 + [1.0] * 10, "decreasing"),
                              ([1.0] * 10 + [2.0] * 10, "increasing"),
                              ([1.0] * 10 + [1.04] * 10, "stable"),
                              ([1.0] * 9, None), ([math.nan] * 20, None)]:
            w = tidemark.Watcher(print_every=0)
            for loss in losses:
                w.step(loss)
            self.assertEqual(w.loss_tracker.get_trend(), trend)

    def test_variance_spike(self):
        w = tidemark.Watcher(print_every=20, window=20)
        with output() as out:
            for i in range(20):
                w.step(1.0 + 0.01 * (i % 2))
            w.epoch_end()
            for i in range(20):
                w.step(1.0 + 0.5 * (i % 2))
        self.assertIn("WARNING: the loss variance is 2500 times", out.getvalue())
        quiet = tidemark.Watcher(print_every=20, warn_on_variance=False)
        with output() as out:
            steps(quiet, 20)
            quiet.epoch_end()
            for i in range(20):
                quiet.step(float(i))
        self.assertNotIn("WARNING", out.getvalue())

    def test_what_can_be_a_loss(self):
        w = tidemark.Watcher(print_every=0)
        for loss in (1, True, 0.5, decimal.Decimal("0.25")):
            w.step(loss)
        self.assertEqual(w.loss_tracker.losses, [1.0, 1.0, 0.5, 0.25])

    def test_what_cannot(self):
        w = tidemark.Watcher(print_every=0)
        for loss in ("x", b"x", [1.0], {}, object()):
            with self.assertRaisesRegex(TypeError, r"step\(\) takes the loss .* pass the loss"):
                w.step(loss)
        for call in (lambda: w.step(), lambda: w.step(1.0, 2.0), lambda: w.step(lost=1.0),
                     lambda: w.step(1.0, loss=1.0)):
            with self.assertRaisesRegex(TypeError, "one argument"):
                call()
        self.assertEqual(w.step_count, 0)

    def test_a_loss_that_is_missing_once_does_not_end_training(self):
        w = tidemark.Watcher(print_every=0)
        w.step(1.0)
        with self.warned("could not read the loss of step 2", "counts without it"):
            steps(w, 3, None)
        self.assertEqual((w.step_count, w.loss_tracker.losses), (4, [1.0]))

    def test_each_kind_of_unreadable_loss_is_told_of_once(self):
        class Several:
            def __init__(self, count):
                self.count = count

            def __float__(self):
                raise ValueError(f"{self.count} values are not one")

        w = tidemark.Watcher(print_every=0)
        with self.warnings() as seen:
            for loss in (None, Several(3), None, Several(4), 10**400):
                w.step(loss)
        self.assertEqual(len(seen), 3, [str(x.message) for x in seen])
        for warning, word in zip(seen, ("NoneType", "3 values", "too large")):
            self.assertIn(word, str(warning.message))

    def test_an_interrupt_while_a_loss_is_read_goes_through(self):
        class Slow:
            def __float__(self):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            tidemark.Watcher().step(Slow())


    def test_what_a_signal_handler_raises_while_a_loss_is_read_goes_through(self):
        with raising_signal(TimeoutError) as signal_it, self.assertRaises(TimeoutError):
            tidemark.Watcher().step(type("Slow", (), {"__float__": signal_it})())


class Signals(Case):
    """A handler of the program's own may run while we are at work."""

    class Hooks(WarnsOnce):
        @shielded
        def hook(self, does):
            does()

    def test_what_it_raises_goes_to_the_program(self):
        def throw(*_):
            raise TimeoutError

        class Handlers:
            def method(self, number, frame):
                throw()

            def __call__(self, *told):
                throw()

        def with_more(more, number, frame):
            throw()

        for handler in (None, throw, Handlers().method, Handlers(),
                        functools.partial(with_more, 3)):
            with self.subTest(handler=handler), raising_signal(TimeoutError, handler) as signal_it:
                with self.assertRaises(TimeoutError):
                    self.Hooks().hook(signal_it)

    def test_what_goes_wrong_by_itself_does_not(self):
        def fails(number=10, frame=None):
            raise TimeoutError

        with self.warned("hook: TimeoutError", "training goes on"):
            self.Hooks().hook(fails)


class Life(Case):
    def test_after_close_a_warning(self):
        w = tidemark.Watcher(print_every=0)
        steps(w, 5)
        w.close()
        with self.warned("closed", "create a new one"):
            steps(w, 3)
            w.epoch_end()
            w.count("a", 1)
        w.close()
        self.assertEqual(w.step_count, 5)
        self.assertEqual(json.loads(w.json())["tidemark"], tidemark.__version__)

    def test_a_block_ends_with_the_verdict(self):
        with output() as out:
            with tidemark.watch(print_every=50) as w:
                steps(w, 10)
        self.assertRegex(out.getvalue(), r"^   verdict: INCONCLUSIVE")
        self.assertTrue(w.closed)

    def test_answers(self):
        w = tidemark.Watcher(print_every=0)
        self.assertEqual(w.verdict().answer, "inconclusive")
        for i in range(400):
            w.step(0.5)
            time.sleep(0.001)
        self.assertEqual(w.verdict("host.anon").kind, "host.anon")
        self.assertEqual(str(w.verdict()), w.verdict().summary)
        self.assertIn("no series 'nothing'", w.verdict("nothing").summary)
        self.assertEqual(json.loads(w.json())["schema"], 1)
        self.assertIn("host.anon", w.report())

    def test_two_watchers_at_once(self):
        a, b = tidemark.Watcher(print_every=0), tidemark.Watcher(print_every=0)
        steps(a, 3)
        steps(b, 5)
        self.assertEqual((a.step_count, b.step_count), (3, 5))
        a.close()
        steps(b, 1)
        self.assertEqual(b.verdict().answer, "inconclusive")

    def test_the_child_of_a_fork_is_silent(self):
        code, said = run_python("""
            import math, os, sys, tidemark
            w = tidemark.Watcher(print_every=1)
            child = os.fork()
            if child == 0:
                w.step(1.0); w.step(math.nan); w.epoch_end(); w.count("a", 1)
                with w.phase("a"): pass
                assert w.verdict().answer == "inconclusive", w.verdict()
                w.json(), w.report(), w.close()
                sys.exit(0)
            print(os.waitpid(child, 0)[1])
            w.epoch_end()
            """)
        self.assertEqual((code, said), (0, "0\n✓ Epoch 1 complete - baselines set\n"))

    def test_no_threads(self):
        code, said = run_python("""
            import os, tidemark
            w = tidemark.Watcher()
            for i in range(250): w.step(0.5)
            print(len(os.listdir("/proc/self/task")))
            """)
        self.assertEqual(said.splitlines()[-1], "1")

    def test_nothing_is_imported_that_is_not_there(self):
        code, said = run_python("""
            import sys
            before = set(sys.modules)
            import tidemark
            w = tidemark.Watcher(print_every=1); w.step(0.5); w.epoch_end()
            new = set(sys.modules) - before
            print(sorted({"torch", "numpy", "psutil", "logging", "threading"} & new))
            """)
        self.assertEqual((code, said.splitlines()[-1]), (0, "[]"))

    def test_one_that_was_never_made_says_so(self):
        code, said = run_python("""
            import tidemark
            class Mine(tidemark.Watcher):
                def __init__(self): pass
            for call in (lambda: Mine().step(0.5), lambda: Mine()._losses(),
                         lambda: Mine()._add_loss(0.5)):
                try:
                    call()
                except RuntimeError as error:
                    print(error)
            """)
        self.assertEqual((code, said), (0, 3 * "Watcher.__init__() has not been called\n"))

    def test_a_watcher_that_is_dropped_is_closed_without_the_collector(self):
        code, said = run_python("""
            import gc, os, warnings, tidemark
            def descriptors():
                return len(os.listdir("/proc/self/fd"))
            def used(**options):
                w = tidemark.Watcher(print_every=1, **options)
                for i in range(10): w.step(0.5)
                w.epoch_end()
                w.loss_tracker.get_trend()
                for x in w.data([1]): pass
                return w
            gc.disable()
            warnings.simplefilter("ignore")
            used()
            before = descriptors()
            w = used(run_file="a.tide")
            print(descriptors() > before)
            del w
            print(descriptors() - before)
            kept = [used() for i in range(20)]
            del kept
            w = used(run_file="a.tide")  # exists
            del w
            print(descriptors() - before)
            """, cwd=self.folder())
        self.assertEqual(code, 0, said)
        self.assertEqual([x for x in said.splitlines() if x[0] in "TF0123456789"],
                         ["True", "0", "0"])

    def test_the_losses_outlive_the_name_of_their_watcher(self):
        tracker = tidemark.Watcher(print_every=0).loss_tracker
        self.assertEqual(tracker.losses, [])
        tracker.variance_baseline = 2.0
        self.assertEqual(tracker.variance_baseline, 2.0)


class Arguments(Case):
    """A mistake in the program's text shows at its first line."""

    def refused(self, error, name, *values):
        for value in values:
            with self.assertRaises(error, msg=f"{name}={value!r}") as raised:
                tidemark.Watcher(**{name: value})
            for part in (f"{name}=", f"not {value!r}"):
                self.assertIn(part, str(raised.exception))

    def test_whole_numbers(self):
        for name, least in (("window", 1), ("print_every", 0), ("sync_interval", 1),
                            ("start_step", 0)):
            self.refused(ValueError, name, least - 1, -5)
            self.refused(TypeError, name, "x", None, 1.5, [1])

    def test_numbers_of_steps(self):
        for name in ("plan_steps", "horizon", "epoch_steps"):
            self.refused(ValueError, name, 0, -1, math.nan, math.inf)
            self.refused(TypeError, name, "10", [1])
            tidemark.Watcher(**{name: 0.5})

    def test_limits(self):
        for name in ("leak_threshold_mb", "leak_streak_mb"):
            self.refused(ValueError, name, -1, math.nan)
            self.refused(TypeError, name, "10")

    def test_what_is_called(self):
        self.refused(TypeError, "on_leak", 5, "print")
        self.refused(TypeError, "logger", 5, print)

    def test_run_file(self):
        self.refused(ValueError, "run_file", "", b"", "a\0b")
        self.refused(TypeError, "run_file", 5, ["a.tide"])
        path = self.folder() / "a.tide"
        tidemark.Watcher(run_file=os.fsencode(path)).close()
        self.assertTrue(path.exists())

    def test_device(self):
        self.refused(ValueError, "device", "bla", "", "cuda:", "cuda:x", "cuda 0", -1)
        self.refused(TypeError, "device", 1.0, True, ["cuda:0"])
        for device in ("cuda:0", "cuda", "cpu", "mps", 0, None):
            tidemark.Watcher(device=device)

    @needs_torch
    def test_a_device_of_torch(self):
        tidemark.Watcher(device=torch.device("cuda:0"))

    def test_a_device_is_known_without_torch(self):
        code, said = run_python("""
            import tidemark
            tidemark.Watcher(device="cuda:1")
            tidemark.Watcher(device="bla")
            """)
        self.assertEqual(code, 1)
        self.assertIn("ValueError: Watcher() needs device= a torch device", said)


class Counters(Case):
    def test_a_counter_of_ones_own_is_judged(self):
        w = tidemark.Watcher(print_every=0)
        for i in range(300):
            w.step(0.5)
            w.count("pool", i * 1000, device="cuda:1")
            w.count("entries", 7, unit="count")
            time.sleep(0.002)
        self.assertEqual(w.verdict("pool").device, "cuda:1")
        self.assertAlmostEqual(w.verdict("pool").rate, 1000, delta=50)
        self.assertNotEqual(w.verdict("entries").answer, "leak")

    def test_wrong_unit(self):
        with self.assertRaisesRegex(ValueError, "unit="):
            tidemark.Watcher().count("a", 1, unit="MB")

    def test_a_counter_that_cannot_be_kept_is_warned_of_once(self):
        for arguments, why in ((("host.anon", 1), '"host."'), (("", 1), "name is empty"),
                               (("n" * 48, 1), "48 bytes, of at most 47"),
                               (("a\n", 1), "cannot be printed"),
                               (("a", math.nan), "value is nan"), (("a", math.inf), "inf"),
                               (("a", 1, "bytes", "d" * 23), "device has 23 bytes")):
            w = tidemark.Watcher(print_every=0)
            with self.warned(f"{arguments[0]!r} is not recorded: ", why):
                w.count(*arguments)
                w.count(*arguments)

    def test_names_without_end_are_warned_of_once(self):
        w = tidemark.Watcher(print_every=0)
        with self.warned("too many counters have names"):
            for i in range(200):
                w.count(f"name {i}", 1)


class Phases(Case):
    def test_a_block_and_what_callbacks_call(self):
        w = tidemark.Watcher(print_every=0)
        with self.warnings() as seen:
            with w.phase("evaluate") as nothing, w.phase("evaluate"):
                w.phase_begin("save")
                steps(w, 3)
            w.phase_end("save")
            w.phase_end("save")
            w.phase_end("never begun")
        self.assertIsNone(nothing)
        self.assertEqual([str(x.message) for x in seen], [])

    def test_what_the_block_raises_goes_through(self):
        w = tidemark.Watcher(print_every=0)
        with self.assertRaisesRegex(KeyError, "of the program"):
            with w.phase("evaluate"):
                raise KeyError("of the program")

    def test_a_name_is_a_text(self):
        w = tidemark.Watcher(print_every=0)
        for wrong in (None, 7, b"evaluate"):
            for call in (w.phase, w.phase_begin, w.phase_end):
                with self.assertRaisesRegex(TypeError, "a phase needs a name"):
                    call(wrong)

    def run_evaluating(self, *arguments):
        """A program of its own that watches itself; its answer, and the report of its run file."""
        file = self.folder() / "run.tide"
        program = ROOT / "tests" / "workloads" / "evaluates.py"
        done = subprocess.run(
            [sys.executable, str(program), "--run-file", str(file), *map(str, arguments)],
            stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        shown = subprocess.run([_program.PROGRAM, "show", "--full", str(file)],
                               stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        return json.loads(done.stdout), shown.stdout

    def test_an_evaluation_that_gives_back_is_named_and_no_leak(self):
        answer, shown = self.run_evaluating("--steps", 600, "--seconds", 0.1, "--mb", 150)
        self.assertEqual(answer["verdict"], "no_leak", answer["summary"])
        evaluate, save = answer["phases"]
        self.assertEqual((evaluate["name"], evaluate["times"], evaluate["ended"]),
                         ("evaluate", 12, 12))
        self.assertEqual((save["name"], save["times"]), ("save", 4))
        (anon,) = [s for s in evaluate["series"] if s["kind"] == "host.anon"]
        # Nobody looked in between: the kernel's own mark tells the most there was.
        self.assertAlmostEqual(anon["above_floor"] / 2**20, 150, delta=8)
        self.assertGreaterEqual(anon["looked_at"], 11)
        self.assertEqual(anon["given_back"], anon["looked_at"])
        self.assertIn("  phases    evaluate 12 times, ", shown)

    def test_a_leak_inside_an_evaluation_is_a_leak(self):
        answer, shown = self.run_evaluating("--steps", 600, "--seconds", 0.02, "--keep-mb", 10)
        self.assertEqual(answer["verdict"], "leak", answer["summary"])
        (anon,) = [s for s in answer["phases"][0]["series"] if s["kind"] == "host.anon"]
        self.assertEqual(anon["given_back"], 0)
        self.assertAlmostEqual(anon["kept"] / 2**20, 10, delta=1)
        self.assertIn("on average 10.0 MB stayed", " ".join(shown.split()))

    def test_a_phase_that_cannot_be_kept_is_warned_of_once(self):
        for name, why in (("", "name is empty"), ("n" * 48, "48 bytes, of at most 47"),
                          ("a\n", "cannot be printed"), ("a\0b", "cannot be printed"),
                          ("\ud800", "cannot be printed")):
            w = tidemark.Watcher(print_every=0)
            with self.warned(f"the phase {name!r} is not recorded: ", why):
                with w.phase(name):
                    steps(w, 1)


class Data(Case):
    def train(self, loading, working):
        """What is printed where a batch takes so long to load and a step so long to work. By a clock
        of our own, that a busy machine does not hold up."""
        now = 0.0
        self.addCleanup(setattr, _watcher, "time", _watcher.time)
        _watcher.time = types.SimpleNamespace(perf_counter=lambda: now)

        def loader():
            nonlocal now
            for i in range(20):
                now += loading
                yield i

        w = tidemark.Watcher(print_every=10)
        batches = []
        with output() as out:
            for batch in w.data(loader()):
                batches.append(batch)
                now += working
                w.step(0.5)
        self.assertEqual(batches, list(range(20)))
        return out.getvalue()

    def test_waiting_for_data_is_measured(self):
        warned = re.findall(r"WARNING: (\d+)% of the time was spent waiting for data "
                            r"\(([\d.]+)s per step\)", self.train(0.012, 0.003))
        self.assertEqual(warned, [("80", "0.012")])  # once an epoch

    def test_a_fast_loader_is_not_warned_of(self):
        self.assertNotIn("WARNING", self.train(0.002, 0.006))

    def test_a_busy_gpu_does_not_starve(self):
        w = tidemark.Watcher(print_every=10)
        w._add_wait(1000)
        with output() as out:
            w._check_waiting(0.95)
        self.assertEqual(out.getvalue(), "")

    def test_a_loader_stays_what_it_is(self):
        data = tidemark.Watcher().data([1, 2, 3])
        self.assertEqual((len(data), list(data), list(data)), (3, [1, 2, 3], [1, 2, 3]))
        self.assertEqual(data.index(2), 1)
        self.assertEqual(list(copy.copy(data)), [1, 2, 3])

    def test_what_it_cannot_do_it_does_not_seem_to(self):
        data = tidemark.Watcher().data([1, 2, 3])
        for name in ("__getitem__", "__contains__", "__reversed__", "__next__"):
            self.assertFalse(hasattr(data, name), name)
        with self.assertRaises(TypeError):
            data[0]
        with self.assertRaises(TypeError):
            len(tidemark.Watcher().data(iter([])))
        self.assertIn(2, data)
        self.assertEqual(list(tidemark.Watcher().data(iter([1, 2]))), [1, 2])

    def test_no_batch_is_kept(self):
        class Batch:
            pass

        for batch in tidemark.Watcher(print_every=0).data(Batch() for i in range(3)):
            kept = weakref.ref(batch)
            del batch
            self.assertIsNone(kept())


class RunFiles(Case):
    def record(self, folder, arguments, **environment):
        code, said = run_python(f"""
            import tidemark
            w = tidemark.Watcher(print_every=0, run_file={arguments})
            for i in range(50): w.step(0.5)
            """, cwd=folder, **environment)
        self.assertEqual(code, 0, said)
        return sorted(p.name for p in folder.iterdir()), said

    def test_a_file_is_complete_without_close(self):
        folder = self.folder()
        self.assertEqual(self.record(folder, "'a.tide'"), (["a.tide"], ""))
        self.assertGreater((folder / "a.tide").stat().st_size, 4096)

    def test_a_name_is_chosen(self):
        names, said = self.record(self.folder(), "True")
        self.assertEqual(said, "")
        self.assertRegex(names[0], r"^run-\d{8}-\d{6}\.tide$")

    def test_a_name_is_chosen_twice(self):
        folder = self.folder()
        code, said = run_python("""
            import tidemark
            a = tidemark.Watcher(run_file=True)
            b = tidemark.Watcher(run_file=True)
            """, cwd=folder)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(len(list(folder.iterdir())), 2)

    def test_one_file_a_rank(self):
        folder = self.folder()
        for rank in ("0", "1"):
            self.record(folder, "'a.tide'", RANK=rank, WORLD_SIZE="2")
        self.assertEqual(sorted(p.name for p in folder.iterdir()),
                         ["a-rank0.tide", "a-rank1.tide"])

    def test_an_existing_file_is_left_alone(self):
        folder = self.folder()
        (folder / "a.tide").write_text("mine")
        names, said = self.record(folder, "'a.tide'")
        self.assertIn("not recorded", said)
        self.assertEqual((folder / "a.tide").read_text(), "mine")

    def test_a_folder_that_is_not_there(self):
        names, said = self.record(self.folder(), "'no/a.tide'")
        self.assertEqual(names, [])
        self.assertRegex(said, r"no/a.tide: .*: this run is not recorded; give run_file=")
        self.assertEqual(said.count("Warning"), 1)


class Ranks(Case):
    PROGRAM = """
        import tidemark
        w = tidemark.Watcher(print_every=10)
        for i in range(10): w.step(0.5)
        w.epoch_end()
        """

    def test_only_rank_0_prints(self):
        self.assertEqual(run_python(self.PROGRAM, RANK="1", WORLD_SIZE="2"), (0, ""))
        self.assertIn("Step", run_python(self.PROGRAM, RANK="0", WORLD_SIZE="2")[1])


if os.geteuid() == 0:
    # Root writes everywhere but here.
    READ_ONLY = "/proc"
else:
    READ_ONLY = "/"


class WhereWarningsPoint(Case):
    def line_of(self, program, word):
        """The line that is shown with the warning."""
        folder = self.folder()
        (folder / "mine.py").write_text(program)
        code, said = run_python("import runpy; runpy.run_path('mine.py')", cwd=folder)
        self.assertEqual(code, 0, said)
        line = re.search(rf"mine\.py:\d+: RuntimeWarning: .*{word}.*\n(.*)", said)
        self.assertTrue(line, said)
        return line[1].strip()

    def test_the_constructor(self):
        for make in ("tidemark.Watcher(run_file='no/a.tide')",
                     "tidemark.watch(run_file='no/a.tide')"):
            self.assertEqual(self.line_of(f"import tidemark\nw = {make}\n", "not recorded"),
                             f"w = {make}")

    def test_a_derived_class(self):
        program = """
import tidemark
class Mine(tidemark.Watcher):
    def __init__(self):
        super().__init__(run_file='no/a.tide')
Mine()
"""
        self.assertEqual(self.line_of(program, "not recorded"),
                         "super().__init__(run_file='no/a.tide')")

    def test_the_loop(self):
        for call, word in (("step(None)", "could not read the loss"), ("count('host.a', 1)", "not recorded"),
                           ("_on_leaks([('leak',)])", "ZeroDivision"),):
            program = f"""
import tidemark
w = tidemark.Watcher(print_every=0, on_leak=lambda v: 1 / 0)
w.{call}
"""
            self.assertEqual(self.line_of(program, word), f"w.{call}")

    def test_after_close(self):
        program = "import tidemark\nw = tidemark.Watcher(print_every=0)\nw.close()\nw."
        for call in ("step(1.0)", "epoch_end()", "count('a', 1)", "phase_begin('a')",
                     "phase_end('a')"):
            self.assertEqual(self.line_of(f"{program}{call}\n", "closed"), f"w.{call}")


class ReadOnly(Case):
    def test_a_read_only_folder(self):
        with self.warned("not recorded"):
            w = tidemark.Watcher(print_every=0, run_file=f"{READ_ONLY}/a.tide")
        steps(w, 10)
        self.assertEqual(w.step_count, 10)
