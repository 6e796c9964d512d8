"""What a program asks about its own objects: census(), growth(), holders()."""

import ast
import collections
import functools
import gc
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import weakref

import tidemark
from support import Case, needs_torch, run_python, torch
from tidemark import _core, _objects

THIS_FILE = "test_objects.py"
MB = 1024 * 1024


class Thing:
    kept_by_class = []


class Refusing:
    """Whatever of it is asked ends the test."""

    def _refuse(self, *_):
        raise AssertionError("code of the program ran")

    def __getattribute__(self, name):
        raise AssertionError(f"asked for {name}")

    __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __sizeof__ = _refuse
    __class__ = property(_refuse)


class RefusingList(list):
    def _refuse(self, *_):
        raise AssertionError("code of the program ran")

    __repr__ = __eq__ = __len__ = __iter__ = __bool__ = __sizeof__ = __getitem__ = _refuse


global_list = []
global_dict = {}


@functools.lru_cache(maxsize=None)
def cached(key):
    return Thing()


def paths(found):
    return [(h.kind, h.path) for h in found]


class Census(Case):
    def test_objects_by_type_are_counted_exactly(self):
        before = tidemark.census().types.get(f"{__name__}.Thing", (0, 0))
        things = [Thing() for _ in range(500)]
        now = tidemark.census().types[f"{__name__}.Thing"]
        self.assertEqual(now.count - before[0], len(things))
        self.assertGreater(now.bytes, before[1])

    def test_what_the_collector_does_not_track_counts_too(self):
        before = tidemark.census().types["bytes"]
        kept = {i: bytes(10_000) for i in range(100)}
        now = tidemark.census().types["bytes"]
        self.assertEqual(now.count - before.count, len(kept))
        self.assertAlmostEqual(now.bytes - before.bytes, 1_000_000, delta=10_000)

    def test_it_is_near_what_the_collector_counts(self):
        c = tidemark.census()
        tracked = collections.Counter(type(x).__name__ for x in gc.get_objects())
        for name in ("function", "module"):
            self.assertAlmostEqual(c.types[name].count, tracked[name], delta=5, msg=name)
        self.assertGreater(c.objects, sum(tracked.values()) - 100)
        self.assertGreater(c.pause_seconds, 0)

    def test_it_can_be_printed(self):
        said = str(tidemark.census())
        self.assertRegex(said, r"^[\d,]+ objects, [\d.,]+ MB; counted in \d+ ms\n   \S+: [\d,]+, ")

    def test_it_keeps_nothing_alive_and_leaves_nothing_behind(self):
        tidemark.census()
        thing = Thing()
        gone = weakref.ref(thing)
        count = sys.getrefcount(thing)
        kept = tidemark.census()
        self.assertEqual(sys.getrefcount(thing), count)
        del thing
        self.assertIsNone(gone())
        del kept
        with tidemark.growth() as g:
            for _ in range(3):
                tidemark.census()
        self.assertEqual([str(t) for t in g.types if t.count > 5], [])

    def test_no_code_of_the_program_runs(self):
        kept = [Refusing(), RefusingList([1, 2]), {"a": Refusing()}]
        before = tidemark.census().types[f"{__name__}.Refusing"].count
        self.assertEqual(before, 2)
        with tidemark.growth() as g:
            list.append(kept[1], Refusing())
        found = [c for c in g.containers if c.type == f"{__name__}.RefusingList"]
        self.assertEqual([c.count for c in found], [1])
        self.assertEqual(paths(tidemark.holders(kept[0])), [("local", "kept[0]")])

    def test_an_error_that_is_being_handled_stays(self):
        try:
            raise KeyError("x")
        except KeyError:
            tidemark.census()
            self.assertIs(sys.exc_info()[0], KeyError)

    @needs_torch
    def test_tensors_by_what_they_are_and_are_for(self):
        model = torch.nn.Linear(512, 1024, bias=False)
        optimizer = torch.optim.Adam(model.parameters())
        loss = model(torch.ones(2, 512)).sum()
        loss.backward()
        optimizer.step()
        large = torch.ones(1024, 1024)
        view = large[:2]
        c = tidemark.census()
        groups = {(t.dtype, t.shape, t.requires_grad, t.grad_fn): t for t in c.tensors}
        self.assertEqual(groups["float32", "[1024, 1024]", False, False][5:], (1, 4 * MB))
        self.assertEqual(groups["float32", "[]", True, True].count, 1)
        self.assertGreaterEqual(groups["float32", "[1024, 512]", True, False].count, 1)
        self.assertIn(("cpu", "float32", "[1024, 1024]", 4 * MB, 4 * MB), c.large)
        purposes = c.purposes["cpu"]
        self.assertGreaterEqual(purposes["parameters"], 2 * MB)
        self.assertGreaterEqual(purposes["gradients"], 2 * MB)
        self.assertGreaterEqual(purposes["optimizer"], 4 * MB)
        device = c.devices["cpu"]
        self.assertGreaterEqual(device.count, 7)
        self.assertGreaterEqual(device.grad_fn, 1)
        said = str(c)
        self.assertRegex(said, r"tensors on cpu: \d+, [\d.]+ MB; \d+ with requires_grad, \d+ with")
        self.assertRegex(said, r"1 x float32 \[1024, 1024\] cpu: 4.0 MB")
        del view

    @needs_torch
    def test_a_view_shows_what_it_keeps(self):
        view = torch.ones(2048, 1024).resize_(1, 1024)  # no other tensor has its storage
        self.assertIn(("cpu", "float32", "[1, 1024]", 8 * MB, 4096), tidemark.census().large)
        self.assertIn("large: float32 [1, 1024] cpu: 8.0 MB, 4.0 KB seen", str(tidemark.census()))
        del view


class Growth(Case):
    def test_nothing_grows_where_nothing_is_kept(self):
        for _ in range(2):  # what Python itself makes at first use is made then
            with tidemark.growth() as g:
                things = [Thing() for _ in range(1000)]
                del things
        self.assertFalse(g)
        self.assertEqual(str(g), "nothing grew")

    def test_containers_with_their_holders(self):
        local_list = []
        with tidemark.growth() as g:
            for i in range(100):
                global_dict[i] = bytes(1000)
            for i in range(3):
                global_list.append(i * 1.5)
            for i in range(20):
                local_list.append([Thing() for _ in range(5)])
                Thing.kept_by_class.append(float(i))
        found = {c.holder.path: c for c in g.containers if c.holder}
        module = "" if __name__ == "__main__" else f"{__name__}."
        cache = found[f"{module}global_dict"]
        self.assertEqual((cache.type, cache.item, cache.count, cache.length),
                         ("dict", "bytes", 100, 100))
        self.assertAlmostEqual(cache.bytes, 110_000, delta=15_000)
        self.assertEqual((found[f"{module}global_list"].count, found[f"{module}global_list"].item),
                         (3, "float"))
        local = found["local_list"]
        self.assertEqual((local.count, local.holder.kind, local.holder.function),
                         (20, "local", "Growth.test_containers_with_their_holders"
                          if sys.version_info >= (3, 11) else "test_containers_with_their_holders"))
        self.assertEqual(os.path.basename(local.holder.file), THIS_FILE)
        self.assertGreater(local.holder.line, 0)
        self.assertEqual(found["Thing.kept_by_class"].holder.kind, "class")
        self.assertEqual(len(found), 4, found)  # and not the lists in the list
        types = {t.name: t.count for t in g.types}
        self.assertEqual((types["bytes"], types[f"{__name__}.Thing"]), (100, 100))
        self.assertRegex(str(g), r"(?s)containers:\n.*dict `.*global_dict`.*: \+100 items \(bytes\), "
                         r"about 1\d\d\.\d KB.*types:\n")

    def test_a_container_that_is_made_in_the_block(self):
        keeper = Thing()
        with tidemark.growth() as g:
            keeper.cache = {i: str(i) * 10 for i in range(500)}
        found = [c for c in g.containers if c.holder and c.holder.path == "keeper.cache"]
        self.assertEqual(len(found), 1, g)
        self.assertGreater(found[0].count, 400)  # another may have been where it lies

    def test_what_items_of_two_containers_share_is_told_of_them(self):
        calls, log = [], []
        with tidemark.growth() as g:
            for i in range(40):
                thing = Thing()
                thing.data = bytearray(8000)
                calls.append((i, thing))
                log.append([i, thing])
            del thing
        first = g.containers[0]
        self.assertIn(first.holder.path, ("calls", "log"))
        self.assertRegex(first.item, r"^(tuple|list) of \S*Thing of bytearray")
        self.assertAlmostEqual(first.bytes, 40 * 8100, delta=40_000)

    def test_a_weak_registry_is_not_what_holds(self):
        registry, kept = weakref.WeakValueDictionary(), []
        with tidemark.growth() as g:
            for i in range(50):
                kept.append(Thing())
                registry[i] = kept[-1]
        self.assertEqual([c.holder.path for c in g.containers if c.count >= 50], ["kept"])

    def test_nor_is_one_of_a_class_of_the_program(self):
        class Registry(weakref.WeakValueDictionary):
            pass
        registry, kept = Registry(), []
        with tidemark.growth() as g:
            for i in range(50):
                kept.append(Thing())
                registry[i] = kept[-1]
        self.assertEqual([c.holder.path for c in g.containers if c.count >= 50], ["kept"])

    def test_a_container_in_the_memory_of_what_was_there_before(self):
        hold = [[] for _ in range(1000)]
        with tidemark.growth() as g:
            history = list(range(5000))
        self.assertIn(("list", 5000), [(c.type, c.count) for c in g.containers])
        del hold, history

    def test_lines_within_a_name(self):
        cache = {"a\rb\x0b\u2028c": Thing()}
        found = tidemark.holders(next(iter(cache.values())))
        self.assertEqual([h.path for h in found], ['cache["a\rb\x0b\u2028c"]'])

    def test_a_local_of_a_generator(self):
        def batches():
            batch = [Thing()]
            yield batch[0]
        made = batches()
        found = tidemark.holders(next(made))
        self.assertIn("`batch[0]`, local of the generator `batches`", found[0].text)

    def test_what_waits_for_the_collector_is_told_so(self):
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        with tidemark.growth() as g:
            for _ in range(30):
                thing = Thing()
                thing.me = thing
            del thing
        found, = [t for t in g.types if t.name == f"{__name__}.Thing"]
        self.assertEqual((found.count, found.holder.kind), (30, "garbage"))
        self.assertIn("objects referenced only by each other", str(g))

    def test_the_block_may_fail(self):
        with self.assertRaises(KeyError):
            with tidemark.growth() as g:
                global_list.append(object())
                raise KeyError("x")
        self.assertIsNotNone(g.after)

    def test_one_block_each(self):
        g = tidemark.growth()
        self.assertEqual(str(g), "the block has not ended")
        with self.assertRaises(RuntimeError):
            g.__exit__(None, None, None)
        with g:
            pass
        with self.assertRaisesRegex(RuntimeError, "one block"):
            with g:
                pass

    def test_one_in_another(self):
        kept = []
        with tidemark.growth() as outer:
            kept.append(Thing())
            with tidemark.growth() as inner:
                kept.append(Thing())
        counts = [sum(t.count for t in g.types if t.name == f"{__name__}.Thing")
                  for g in (outer, inner)]
        self.assertEqual(counts, [2, 1])

    @needs_torch
    def test_losses_that_are_kept(self):
        weight, history = torch.ones(10, requires_grad=True), []
        with tidemark.growth() as g:
            for i in range(10):
                history.append((weight * i).sum())
        found, = [c for c in g.containers if c.holder and c.holder.path == "history"]
        self.assertEqual((found.count, found.item, found.grad_fn),
                         (10, "tensor float32 [] cpu", True))
        self.assertIn("(tensor float32 [] cpu, with the graph that made them)", str(found))
        group, = [t for t in g.tensors if t.shape == "[]"]
        self.assertEqual((group.count, group.requires_grad, group.grad_fn), (10, True, True))


class Text(Case):
    def test_further_fields_are_passed_over(self):
        text = _objects._Text("census\t1\t5\t100\t1\t1\tmore\ncost\t1\t0\t1000\t1000\t0\tmore\n"
                              "types\tint\t3\t84\tmore\npurpose\tother\tcpu\t1\t64\tmore\n"
                              "group\tcpu\tfloat32\t[2]\t1\t8\t0\t0\tmore\n"
                              "growing\t1\tcontainer\t28\t0\t\t5:1 6:4\t28\t30\t0\t0\tmore\n"
                              "what\t1\tlist\tlist\t\t\t\t\tmore\n"
                              "item\t1\ttuple\ttuple\n"
                              "item\t1\ttensor\ttorch.Tensor\tfloat32\t1\t[2]\tcpu\tmore\n"
                              "holder\t1\t1\tglobal\tkept\t\tx.py\t3\tmore\n")
        self.assertEqual(text.census().types["int"], (3, 84))
        [found] = text.growing()
        self.assertEqual((found.count, found.bytes, found.holder.line), (3, 84, 3))
        self.assertEqual((found.type, found.item), ("list", "tuple of tensor float32 [2] cpu"))

    def test_another_version_is_refused(self):
        with self.assertRaises(NotImplementedError):
            _objects._Text("tidemark census 1\ncensus\t1\t5\t100\t1\t1\n")


class Holders(Case):
    def test_everybody_is_named_and_the_asking_variable_last(self):
        thing = Thing()
        keeper = Thing()
        keeper.part = {"x": [thing]}
        global_dict["thing"] = thing
        self.addCleanup(global_dict.clear)

        def closes_over():
            return thing

        def asks(passed):
            return tidemark.holders(passed)

        found = asks(thing)
        module = "" if __name__ == "__main__" else f"{__name__}."
        self.assertEqual(set(paths(found)), {
            ("attribute", 'keeper.part["x"][0]'), ("global", f'{module}global_dict["thing"]'),
            ("closure", "thing"), ("local", "passed"),
            *({("local", "thing")} if ("local", "thing") in paths(found) else set())}, found)
        self.assertEqual(paths(found)[-1], ("local", "passed"))
        self.assertEqual(found[-1].function.rpartition(".")[2], "asks")
        self.assertEqual(os.path.basename(found[-1].file), THIS_FILE)
        self.assertRegex(found[-1].text, r"^`passed`, local of `.*asks` \(.*test_objects\.py:\d+\)$")
        del closes_over

    def test_one_that_only_the_call_has(self):
        self.assertEqual(tidemark.holders(Thing()), [])

    def test_caches_and_defaults_and_threads(self):
        value = cached(1)

        def with_default(x=value):
            return x

        found = paths(tidemark.holders(value))
        self.assertIn(("lru_cache", "cached"), found)
        self.assertIn(("default", "x"), found)
        self.assertEqual(found[-1], ("local", "value"))

    def test_another_thread(self):
        thing, ready, go = Thing(), threading.Event(), threading.Event()

        def work(mine):
            ready.set()
            go.wait(60)

        thread = threading.Thread(target=work, args=(thing,))
        thread.start()
        ready.wait(60)
        found = tidemark.holders(thing)
        go.set()
        thread.join()
        self.assertIn(("local", "mine"), paths(found))
        self.assertEqual(paths(found)[-1], ("local", "thing"))

    def test_a_circle_through_itself_is_no_holder(self):
        thing = Thing()
        thing.other = Thing()
        thing.other.back = thing
        self.assertEqual(paths(tidemark.holders(thing)), [("local", "thing")])

    def test_nothing_is_kept(self):
        thing = Thing()
        gone = weakref.ref(thing)
        found = tidemark.holders(thing)
        del thing
        self.assertIsNone(gone())
        self.assertEqual(len(found), 1)

    @needs_torch
    def test_a_parameter(self):
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = paths(tidemark.holders(model.weight))
        self.assertEqual(found[0], ("attribute", "model.weight"))
        self.assertIn(("attribute", 'optimizer.param_groups[0]["params"][0]'), found)


class Changes(Case):
    """What the callbacks tell at the end of a training."""

    def lines(self, before):
        return "\n".join(_objects.change_lines(before, 5, _core.census(True)))

    def test_objects_by_type_and_what_has_changed(self):
        before = _core.census(True)
        things = [Thing() for _ in range(500)]
        said = self.lines(before)
        self.assertRegex(said, r"   Objects: [\d,]+ \([+-][\d,]+ since step 5\); those that grew most:")
        self.assertRegex(said, r"test_objects\.Thing: [\d,]+ \(\+500\)")
        self.assertNotIn("      tidemark.", said)
        del things

    @needs_torch
    def test_large_tensors_by_what_they_are(self):
        kept = [torch.ones(1024, 512)]
        before = _core.census(True)
        kept += [torch.ones(1024, 512) for _ in range(3)]
        kept.append(kept[0][:2])  # a view: the same memory
        said = self.lines(before)
        self.assertRegex(said, r"Large tensors: \d+ of 1 MB or more, .*\(\+3, \+6\.0 MB since step 5\)")
        self.assertRegex(said, r"x float32 \[1024, 512\] on cpu: .*\(\+3\)")


class Stubs(Case):
    def test_fields_are_those_of_the_tuples(self):
        told = {}
        stub = pathlib.Path(tidemark.__file__).with_suffix(".pyi")
        for kind in ast.parse(stub.read_text()).body:
            if isinstance(kind, ast.ClassDef):
                told[kind.name] = tuple(x.target.id for x in kind.body
                                        if isinstance(x, ast.AnnAssign))
        for name in ("Holder", "TypeCount", "TensorCount", "DeviceCount", "LargeTensor", "Allocator",
                     "Census", "TypeGrowth", "TensorGrowth", "ContainerGrowth"):
            self.assertEqual(told[f"_{name}"], getattr(_objects, name)._fields, name)


class Programs(Case):
    """In processes of their own."""

    def test_under_tidemark_run_too(self):
        program = ("import tidemark\nkept=[]\nwith tidemark.growth() as g:\n"
                   "    kept += [object() for _ in range(50)]\nprint(g.containers[0])")
        done = subprocess.run([sys.executable, "-m", "tidemark", "run", "--no-store", "--quiet",
                               "--", sys.executable, "-c", program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^list `kept`, a global: \+50 items \(object\), about ")

    @needs_torch
    def test_two_places_of_the_step_under_tidemark_run(self):
        """A census begins where the optimizer steps, and the watcher's step is right behind it."""
        program = textwrap.dedent("""
            import os, time, torch, tidemark
            kept = [[i] for i in range(200_000)]  # a child counts them
            model = torch.nn.Linear(4, 4)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            children = f"/proc/self/task/{os.getpid()}/children"
            end = time.monotonic() + 20
            while not open(children).read() and time.monotonic() < end:
                optimizer.step()
                time.sleep(0.01)
            with tidemark.watch(print_every=0) as w:
                for i in range(300):
                    w.step(1.0)
                    time.sleep(0.01)
            print("steps:", w.step_count)
            """)
        done = subprocess.run([sys.executable, "-m", "tidemark", "run", "--no-store", "--full",
                               "--", sys.executable, "-c", program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "steps: 300\n"), done.stderr)
        self.assertRegex(done.stderr, r"inspect +\d+ census")

    def test_in_the_child_of_a_fork(self):
        code, said = run_python("""
            import os, tidemark
            w = tidemark.Watcher(print_every=0)
            for i in range(50): w.step(1.0)
            kept = []
            with tidemark.growth() as g:
                if os.fork() == 0:
                    print(tidemark.census().objects > 1000)
                    with tidemark.growth() as h:
                        kept += range(1000, 1050)
                    print(h.containers[0].count, flush=True)
                    os._exit(0)
                os.wait()
                kept += range(1000, 1020)
            print(g.containers[0].count)
            """)
        self.assertEqual((code, said.split()), (0, ["True", "50", "20"]))

    def test_a_child_of_a_fork_leaves_the_block(self):
        """The tables are the parent's, and shared: it died of what the child had made of them."""
        code, said = run_python("""
            import os, tidemark
            kept = []
            try:
                with tidemark.growth() as g:
                    if os.fork() == 0:
                        kept += [[i] for i in range(200000)]
                        raise ValueError
                    os.wait()
                    kept += range(1000, 1020)
            except ValueError:
                print(g.after, flush=True)
                os._exit(0)
            print(g.containers[0].count)
            """)
        self.assertEqual((code, said.split()), (0, ["None", "20"]))

    def test_a_heap_of_a_million_objects(self):
        code, said = run_python("""
            import tidemark
            kept = [[i] for i in range(1_000_000)]
            c = tidemark.census()
            print(c.types["list"].count >= 1_000_000)
            with tidemark.growth() as g:
                kept.append([1])
            print(g.containers[0].count, g.containers[0].holder.path)
            print(len(tidemark.holders(kept)))
            """)
        self.assertEqual((code, said.split()), (0, ["True", "1", "kept", "1"]))

    def test_deep_nesting_and_odd_names(self):
        code, said = run_python("""
            import tidemark
            deep = ()
            for _ in range(100_000):
                deep = (deep,)
            odd = type("A\\tB\\nC\\\\n", (), {})
            kept = [odd() for _ in range(9)]
            c = tidemark.census()
            print([t.count for n, t in c.types.items() if n == "A\\tB\\nC\\\\n"])
            while deep:
                deep = deep[0]
            """)
        self.assertEqual((code, said.strip()), (0, "[9]"))
