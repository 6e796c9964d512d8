"""Which containers grow: found by name, without running a line of the program, keeping nothing."""

import collections
import gc
import weakref

from support import Case, needs_torch, torch
from tidemark import Verdict, _census
from tidemark._holders import Holders

LEAK = Verdict("leak", kind="host.anon", rate=70_000.0)


class Hoard:
    shared = []

    def __init__(self):
        self.history = []
        self.by_name = {"loss": [], "fixed": [1, 2, 3]}
        self.recent = collections.deque(maxlen=5)


class Untouchable:
    """Anything of it that runs is an error."""

    def __init__(self):
        object.__setattr__(self, "items", Grudging())

    def __getattribute__(self, name):
        raise AssertionError(f"asked for {name}")

    def _refuse(self, *_):
        raise AssertionError("was asked")

    __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __repr__ = __sizeof__ = _refuse
    __class__ = property(_refuse)


class Grudging(list):
    def _refuse(self, *_):
        raise AssertionError("was asked")

    __len__ = __iter__ = __reversed__ = __getitem__ = __bool__ = __sizeof__ = _refuse


class Key:
    is_asked = False

    def __hash__(self):
        assert not self.is_asked
        return 1


def watched(*roots, step, steps=(0, 100, 200, 300)):
    """Holders that have looked before and after each step of a training."""
    holders = Holders(lambda: roots)
    for last, now in zip((0, *steps), steps):
        for i in range(last, now):
            step(i)
        holders.look(now)
    return holders


class Growing(Case):
    def paths(self, holders):
        return sorted(h.path for h in holders.growing())

    def test_the_one_that_grows_has_a_name_a_rate_and_a_place(self):
        hoard = Hoard()
        holders = watched(("Hoard", hoard), step=lambda i: hoard.history.append(bytes(64 * 1024)))
        found, = holders.of(LEAK)
        self.assertEqual((found.path, found.type_name), ("Hoard.history", "list"))
        self.assertAlmostEqual(found.items_per_step, 1.0)
        self.assertAlmostEqual(found.host_per_step, 64 * 1024, delta=200)
        self.assertRegex(found.where, r"test_holders\.py:\d+$")

    def test_inside_dicts_and_modules_and_in_the_class(self):
        hoard = Hoard()

        def step(i):
            hoard.by_name["loss"].append(i)
            Hoard.shared.append(i)
            hoard.recent.append(i)

        holders = watched(("Hoard", hoard), ("Hoard", Hoard), step=step)
        self.assertEqual(self.paths(holders), ["Hoard.by_name['loss']", "Hoard.shared"])

    def test_what_stays_or_falls_is_not_named(self):
        hoard = Hoard()

        def step(i):
            hoard.history.append(i)
            if i == 250:
                hoard.history.clear()
            if i < 50:
                hoard.by_name["fixed"].append(i)

        self.assertEqual(self.paths(watched(("Hoard", hoard), step=step)), [])

    def test_two_moments_are_too_few(self):
        hoard = Hoard()
        holders = watched(("Hoard", hoard), step=hoard.history.append, steps=(0, 100))
        self.assertEqual(self.paths(holders), [])

    def test_a_small_one_is_not_blamed_for_a_large_leak(self):
        hoard = Hoard()
        holders = watched(("Hoard", hoard), step=lambda i: hoard.history.append(float(i)))
        self.assertEqual(self.paths(holders), ["Hoard.history"])
        self.assertEqual(holders.of(LEAK), [])
        self.assertEqual(len(holders.of(LEAK._replace(rate=40.0))), 1)

    def test_nothing_where_there_is_no_leak_or_no_memory_leaks(self):
        hoard = Hoard()
        holders = watched(("Hoard", hoard), step=lambda i: hoard.history.append(bytes(64 * 1024)))
        for verdict in (LEAK._replace(answer="no_leak"), LEAK._replace(kind="fds"),
                        LEAK._replace(kind="replay.entries"), LEAK._replace(rate=None)):
            self.assertEqual(holders.of(verdict), [])

    def test_no_code_of_the_program_runs(self):
        it = Untouchable()
        items = object.__getattribute__(it, "items")
        keyed = Hoard()
        keyed.by_key = {Key(): [1], Key(): [2]}
        Key.is_asked = True
        holders = watched(("Untouchable", it), ("Keyed", keyed),
                          step=lambda i: list.append(items, bytes(70_000)))
        self.assertEqual([h.path for h in holders.of(LEAK)], ["Untouchable.items"])

    def test_nothing_is_kept(self):
        class Thing:
            pass

        hoard, things = Hoard(), []

        def step(i):
            hoard.history.append(Thing())
            things.append(weakref.ref(hoard.history[-1]))

        holders = watched(("Hoard", hoard), step=step)
        hoard.history.clear()
        gone = weakref.ref(hoard)
        holders._roots = tuple  # the test's own, which has it
        del hoard, step
        gc.collect()
        self.assertIsNone(gone())
        self.assertFalse([t for t in things if t() is not None])

    def test_a_circle_and_many_objects_have_an_end(self):
        hoard = Hoard()
        hoard.me = hoard
        hoard.many = [Hoard() for _ in range(60)]
        for other in hoard.many:
            other.many = [Hoard() for _ in range(60)]
            for third in other.many:
                third.many = [Hoard() for _ in range(20)]
        holders = watched(("Hoard", hoard), step=hoard.history.append)
        self.assertIn("Hoard.history", self.paths(holders))

    def test_what_is_gone_is_forgotten(self):
        hoard = Hoard()
        holders = Holders(lambda: [("Hoard", hoard)])
        for step in range(1, 100):
            hoard.by_name = {f"request {n}": [n] for n in range(step, step + 20)}
            holders.look(step)
        self.assertLess(len(holders._first), 60)

    def test_it_keeps_to_its_share_of_the_time(self):
        hoard = Hoard()
        holders = Holders(lambda: [("Hoard", hoard)])
        holders.look(0)
        looks = 0
        for step in range(1, 20_000):
            before = holders._last_step
            holders.look_in_time(step)
            looks += holders._last_step != before
        self.assertLess(looks, 20_000 // 20)
        self.assertGreaterEqual(looks, 1)

    @needs_torch
    def test_tensors_count_with_what_they_keep(self):
        hoard = Hoard()

        def step(i):
            hoard.history.append(torch.rand(16 * 1024)[:10])  # a view keeps all of it

        found, = watched(("Hoard", hoard), step=step).of(LEAK)
        self.assertAlmostEqual(found.host_per_step, 64 * 1024, delta=1000)
        self.assertFalse(found.keeps_graph)

    @needs_torch
    def test_a_graph_that_is_kept_is_told_though_its_size_is_not_known(self):
        hoard, weight = Hoard(), torch.ones(10, requires_grad=True)
        holders = watched(("Hoard", hoard), step=lambda i: hoard.history.append((weight * i).sum()))
        found, = holders.of(LEAK)
        self.assertTrue(found.keeps_graph)

    @needs_torch
    def test_inside_the_modules_of_a_model(self):
        class Keeps(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.maps = []

        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(Keeps()))
        holders = watched(("Model", model), step=model[1][0].maps.append)
        self.assertEqual(self.paths(holders), ["Model[1][0].maps"])


class Counted(Case):
    def test_objects_by_type_and_what_has_changed(self):
        class Thing:
            def __init__(self):
                self.me = self

        before = _census.take(5)
        things = [Thing() for _ in range(500)]
        said = "\n".join(_census.lines(_census.take(20), before))
        self.assertRegex(said, r"   Objects: [\d,]+ \(\+[\d,]+ since step 5\); those that grew most:")
        self.assertRegex(said, r"Thing: 500 \(\+500\)")
        del things

    @needs_torch
    def test_large_tensors_by_what_they_are(self):
        kept = [torch.ones(1024, 512)]
        before = _census.take(5)
        kept += [torch.ones(1024, 512) for _ in range(3)]
        kept.append(kept[0][:2])  # a view: the same memory
        said = "\n".join(_census.lines(_census.take(20), before))
        self.assertRegex(said, r"Large tensors: \d+ of 1 MB or more, .*\(\+3, \+6\.0 MB since step 5\)")
        self.assertRegex(said, r"x float32 \[1024, 512\] on cpu: .*\(\+3\)")
