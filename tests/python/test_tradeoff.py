"""tradeoff(): each setting is tried, what it changes is measured, and only what is real is said."""

import gc
import json
import os
import random

import tidemark
from support import Case
from tidemark import _student, _tradeoff
from tidemark._tradeoff import BASELINE, NOISE, REAL, TOO_FEW, Setting

MB = 1024 * 1024


def rounds(count, **settings):
    """Of made-up values: (host floor, host peak, None, None, seconds) for each setting."""
    def values(base, rng):
        floor, peak, seconds = base
        return (floor * MB + rng.gauss(0, MB), peak * MB + rng.gauss(0, MB), None, None,
                seconds * rng.gauss(1, 0.02))

    rng = random.Random(5)
    named = {"base": BASELINE, "every5": Setting(every=5), "every9": Setting(every=9),
             "yes": Setting(set_to_none=True), "two": Setting(workers=2)}
    return [{named[name]: values(base, rng) for name, base in settings.items()}
            for _ in range(count)]


class Chance(Case):
    def test_students_t(self):
        for t, freedom, chance in ((12.706, 1, 0.05), (2.776, 4, 0.05), (4.604, 4, 0.01),
                                   (2.0, 60, 0.05), (0, 7, 1.0), (8.610, 4, 0.001)):
            self.assertAlmostEqual(_student.two_sided(t, freedom), chance, delta=0.01 * chance)
            self.assertEqual(_student.two_sided(t, freedom), _student.two_sided(-t, freedom))

    def test_of_pairs(self):
        few, same, plain, noise = _student.tests_of(
            [[1.0, 1.0], [0, 0, 0], [3, 3, 3], [1, -1, 2, -2]])
        self.assertIsNone(few)
        self.assertEqual((same.chance, plain.chance, plain.own), (1.0, 0.0, 0.0))
        self.assertGreater(noise.chance, 0.5)

    def test_all_together(self):
        def tests(*chances):
            return [c and _student._Test(c, c) for c in chances]

        self.assertEqual(_student.real_ones(tests(0.04)), [True])
        self.assertEqual(_student.real_ones(tests(0.04, 0.9, None)), [False, False, False])
        self.assertEqual(_student.real_ones(tests(0.9, 0.001, 0.02)), [False, True, True])
        self.assertEqual(_student.real_ones([_student._Test(0.001, 0.06)]), [False])

    def test_what_is_plain_needs_three_rounds(self):
        groups = [[2.2, 2.5, 2.1], [0.1, -0.1, 0.0], [0.05, 0.1, -0.2], [0.0, 0.1, -0.1]]
        tests = _student.tests_of(groups) + [_student._Test(1.0, 1.0)] * 24
        self.assertEqual(_student.real_ones(tests)[:4], [True, False, False, False])

    def test_rarely_cries_wolf(self):
        """Twenty comparisons without any difference, five hundred times."""
        rng = random.Random(1)
        wrong = 0
        for _ in range(500):
            rounds_of = [[rng.gauss(0, 1) for _ in range(5)] for _ in range(21)]
            groups = [[a - b for a, b in zip(s, rounds_of[0])] for s in rounds_of[1:]]
            wrong += any(_student.real_ones(_student.tests_of(groups)))
        self.assertLess(wrong, 0.08 * 500)


class Comparing(Case):
    def test_what_is_real_and_what_is_noise(self):
        rows, comparisons = _tradeoff._compare(
            rounds(5, base=(100, 200, 0.01), every5=(60, 200, 0.02), yes=(100, 200, 0.01)))
        self.assertEqual(comparisons, 6)
        self.assertEqual([str(r.setting) for r in rows], ["as it is", "every 5", "set_to_none yes"])
        _, every, zeroed = rows
        self.assertEqual([c.finding for c in (every.host_floor, every.host_peak,
                                              every.step_seconds)], [REAL, NOISE, REAL])
        self.assertAlmostEqual(every.host_floor.difference / MB, -40, delta=3)
        self.assertEqual({c.finding for c in zeroed[1:]}, {NOISE, None})
        self.assertIsNone(every.device_peak.median)

    def test_two_rounds_tell_nothing(self):
        rows, comparisons = _tradeoff._compare(
            rounds(2, base=(100, 200, 0.01), every5=(10, 20, 0.09)))
        self.assertEqual((rows[1].host_floor.finding, comparisons), (TOO_FEW, 0))
        said = str(_tradeoff.Tradeoff(rows, 40, 2, 0))
        self.assertIn("2 rounds are too few", said)
        self.assertNotIn("-90", said)

    def test_a_few_pages_are_noise(self):
        made = [{BASELINE: (100 * MB, None, None, None, 1.0),
                 Setting(every=5): (100 * MB - 300_000, None, None, None, 1.0)} for _ in range(5)]
        (_, row), _ = _tradeoff._compare(made)
        self.assertEqual(row.host_floor.finding, NOISE)

    def test_the_best_of_each_together(self):
        rows, _ = _tradeoff._compare(rounds(
            6, base=(100, 200, 0.01), every5=(60, 160, 0.02), every9=(61, 161, 0.012),
            yes=(90, 190, 0.01), two=(150, 250, 0.002)))
        # Nine frees as good as what five frees, and is faster; workers take memory.
        self.assertEqual(_tradeoff._combined(rows), Setting(every=9, set_to_none=True))
        rows, _ = _tradeoff._compare(rounds(6, base=(100, 200, 0.01), every5=(60, 160, 0.02),
                                            two=(100, 200, 0.002)))
        self.assertEqual(_tradeoff._combined(rows), Setting(every=5, workers=2))
        rows, _ = _tradeoff._compare(rounds(6, base=(100, 200, 0.01), every5=(60, 160, 0.02)))
        self.assertIsNone(_tradeoff._combined(rows))


class Clock:
    """Goes on when a step says so, a little unevenly: no test waits for a busy machine."""

    def __init__(self):
        self.now, self.rng = 0.0, random.Random(3)

    def perf_counter(self):
        return self.now

    def work(self, seconds):
        self.now += seconds * self.rng.uniform(0.9, 1.1)


class Running(Case):
    def clock(self):
        """In the place of time, as tradeoff() sees it."""
        clock = Clock()
        self.addCleanup(setattr, _tradeoff, "time", _tradeoff.time)
        _tradeoff.time = clock
        return clock

    def test_cycles_that_nobody_collects(self):
        gc.disable()
        self.addCleanup(gc.enable)

        def step():
            cycle = [bytearray(MB)]
            cycle.append(cycle)

        found = tidemark.tradeoff(step, every=[5, None], steps=20, repeat=4)
        base, every = found.rows
        self.assertEqual((found.steps, found.repeat), (20, 4))
        self.assertEqual(every.host_peak.finding, REAL)
        self.assertLess(every.host_peak.difference, -8 * MB)
        self.assertGreater(every.host_peak.median, base.host_floor.low - 100 * MB)
        self.assertIn("every 5", str(found))
        self.assertRegex(str(found), r"-1\d\.\d MB")

    def test_time(self):
        clock = self.clock()

        def step(set_to_none=True):
            clock.work(0.02 if set_to_none else 0.03)

        found = tidemark.tradeoff(step, every=[None], set_to_none=[False, True], steps=5, repeat=4)
        as_it_is, no, yes = (row.step_seconds for row in found.rows)
        self.assertEqual((no.finding, yes.finding), (REAL, NOISE))
        self.assertAlmostEqual(no.difference, 0.01, delta=0.002)
        self.assertAlmostEqual(as_it_is.median, 0.02, delta=0.002)
        self.assertLess(as_it_is.low, as_it_is.high)

    def test_a_peak_within_the_step(self):
        def step(set_to_none=True):
            held = bytearray(0 if set_to_none else 64 * MB)
            del held

        found = tidemark.tradeoff(step, every=[], set_to_none=[False], steps=4, repeat=3)
        if found.rows[0].host_peak.median is None:
            self.skipTest("the kernel does not let us reset the peak")
        self.assertGreater(found.rows[1].host_peak.difference, 50 * MB)
        self.assertLess(abs(found.rows[1].host_floor.difference), 20 * MB)

    def test_workers_memory_counts(self):
        children = []

        def make(workers=0):
            while children:
                pid, end = children.pop()
                os.close(end)
                os.waitpid(pid, 0)
            for _ in range(workers):
                out, end = os.pipe()
                ready, told = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.close(end)
                    mine = b"x" * (48 * MB)
                    os.write(told, b"1")
                    os.read(out, 1)
                    os._exit(len(mine) == 0)
                os.close(out)
                os.read(ready, 1)
                os.close(ready)
                os.close(told)
                children.append((pid, end))
            return lambda: None

        gc.collect()  # what other tests have left must not go meanwhile
        found = tidemark.tradeoff(make, every=[], workers=[1], steps=4, repeat=4)
        make()
        self.assertEqual(found.rows[1].host_floor.finding, REAL, str(found))
        self.assertAlmostEqual(found.rows[1].host_floor.difference / MB, 48, delta=12)

    def test_the_best_are_tried_together(self):
        clock = self.clock()

        def make(workers=0):
            def step(set_to_none=True):
                clock.work(0.03 / (1 + workers) / (1 if set_to_none else 2))
            return step

        found = tidemark.tradeoff(make, every=[], set_to_none=[False], workers=[2], steps=3,
                                  repeat=4)
        self.assertEqual(found.rows[-1].setting, Setting(set_to_none=False, workers=2))
        self.assertLess(found.rows[-1].step_seconds.median, found.rows[1].step_seconds.median)

    def test_each_block_has_its_share_of_cleanups(self):
        self.assertEqual(_tradeoff._block_steps(40, [1, 5, 10, 20]), 40)
        self.assertEqual(_tradeoff._block_steps(30, [20]), 40)
        self.assertEqual(_tradeoff._block_steps(10, [997, 13]), 10)
        self.assertEqual(_tradeoff._block_steps(10, []), 10)

    def test_json(self):
        found = json.loads(tidemark.tradeoff(lambda: None, every=[2], steps=2, repeat=3).json())
        self.assertEqual(found["rows"][1]["setting"]["every"], 2)
        self.assertIn(found["rows"][1]["step_seconds"]["finding"], (REAL, NOISE))
        self.assertNotIn("device_peak", found["rows"][0])

    def test_what_the_step_raises_is_its_own(self):
        with self.assertRaises(ZeroDivisionError):
            tidemark.tradeoff(lambda: 1 / 0, every=[1])

    def test_what_cannot_be_is_refused(self):
        def step():
            pass

        for error, says, options in (
                (TypeError, "step= a function", {"step": 5}),
                (TypeError, "every= a list of values, not 5", {"every": 5}),
                (ValueError, "every= whole numbers, 1 or more, not 0", {"every": [0]}),
                (TypeError, "set_to_none= values True and False", {"set_to_none": ["x"]}),
                (TypeError, "workers=, but step does not accept it", {"workers": [2]}),
                (ValueError, "repeat= whole numbers, 1 or more", {"repeat": 0})):
            with self.assertRaisesRegex(error, says):
                tidemark.tradeoff(**{"step": step, **options})
        with self.assertRaisesRegex(TypeError, "return the function that makes one step"):
            tidemark.tradeoff(lambda workers=0: None, every=[], workers=[1])
