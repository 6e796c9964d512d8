"""Cleanup: the weights are the same with and without it, and what it frees is freed and counted."""

import copy
import gc
import io
import pickle
import sys
import unittest
import warnings
import weakref
from unittest import mock

import tidemark
from support import Case, needs_torch, run_python, torch
from tidemark import _cleanup

MB = 1024 * 1024


class Settings(Case):
    def test_what_cannot_be_is_refused(self):
        for error, options in ((ValueError, {"every": 0}), (TypeError, {"every": 1.5}),
                               (ValueError, {"every": True}), (ValueError, {"zero_grad": True}),
                               (TypeError, {"gc": "yes"}), (ValueError, {"zero_grad": "always"})):
            with self.assertRaisesRegex(error, f"{next(iter(options))}= .*, not "):
                tidemark.Cleanup(**options)

    def test_every_so_many_steps_and_after_evaluations(self):
        c = tidemark.Cleanup(every=3, zero_grad=False)
        for _ in range(10):
            c.step()
        self.assertEqual((c.steps, c.cleanups), (10, 3))
        c.evaluated()
        self.assertEqual(c.cleanups, 4)
        c = tidemark.Cleanup(every=None, on_evaluate=False)
        c.step()
        c.evaluated()
        self.assertEqual(c.cleanups, 0)

    def test_nothing_happens_after_close(self):
        with tidemark.Cleanup(every=1) as c:
            c.step()
        c.step()
        c.evaluated()
        self.assertEqual((c.steps, c.cleanups, c.closed), (1, 1, True))

    def test_copies_have_the_settings_and_begin_anew(self):
        c = tidemark.Cleanup(every=2, trim=False, zero_grad=False)
        c.step()
        for other in (copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
            self.assertEqual((other.every, other.trim, other.zero_grad, other.steps),
                             (2, False, False, 0))

    def test_works_without_torch(self):
        status, said = run_python("""
            import sys, tidemark
            c = tidemark.Cleanup(every=1)
            for _ in range(10):
                c.step()
            assert "torch" not in sys.modules
            print(c.summary())""")
        self.assertEqual(status, 0, said)
        self.assertIn("empty_cache  not done: CUDA is not in use", said)
        self.assertIn("gradients left alone: no optimizer has made a step", said)


class Freeing(Case):
    def test_cycles_where_nobody_collects(self):
        class Node:
            pass

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        c = tidemark.Cleanup(every=5, trim=False, zero_grad=False)
        for _ in range(10):
            node = Node()
            node.itself, node.data = node, bytearray(4 * MB)
            alive = weakref.ref(node)
            del node
            c.step()
        self.assertIsNone(alive())
        count = c.counts["gc"]
        self.assertEqual((count.times, count.useful), (2, 2))
        self.assertGreaterEqual(count.objects, 10)
        self.assertGreater(count.freed_host, 32 * MB)
        self.assertLess(count.freed_host, 60 * MB)
        self.assertIn("freed 4", c.summary())
        self.assertNotIn("gc", c.useless())

    def test_holes_in_the_heap(self):
        c = tidemark.Cleanup(every=1, gc=False, zero_grad=False)
        c.step()
        blocks = [bytearray(100_000) for _ in range(1000)]
        kept = blocks[::2]
        del blocks
        before = c.counts["trim"].freed_host
        c.step()
        self.assertGreater(c.counts["trim"].freed_host - before, 30 * MB)
        self.assertEqual(len(kept), 500)

    def test_what_gc_gives_to_the_heap_is_not_trims(self):
        class Node:
            pass

        gc.collect()
        c = tidemark.Cleanup(every=1, zero_grad=False)
        for _ in range(6):
            node = Node()
            node.itself, node.data = node, [bytearray(50_000) for _ in range(20)]
            del node
            c.step()
        self.assertEqual(c.counts["gc"].useful, 6)
        self.assertNotIn("gc", c.useless())

    def test_a_cleanup_that_frees_nothing_says_so(self):
        gc.collect()
        c = tidemark.Cleanup(every=1, zero_grad=False)
        for _ in range(4):
            c.step()
        self.assertIsNone(c.suggestion())
        for _ in range(40):
            c.step()
        self.assertEqual(c.useless(), ["gc", "trim"])
        self.assertRegex(c.suggestion(), r"^this cleanup frees nothing by now, and took "
                         r"[\d.e+-]+ % of the time: drop it$")
        self.assertIn(c.suggestion(), c.summary())

    def test_only_what_is_useless_is_to_be_dropped(self):
        gc.collect()
        c = tidemark.Cleanup(every=1, zero_grad=False)
        for _ in range(10):
            blocks = [bytearray(100_000) for _ in range(200)]
            kept = blocks[::2]
            del blocks
            c.step()
        self.assertEqual(c.useless(), ["gc"])
        self.assertRegex(c.suggestion(), r"^gc frees nothing .*: Cleanup\(gc=False\)$")
        self.assertEqual(len(kept), 100)

    def test_what_fails_is_left_out_and_told(self):
        def broken(pad):
            raise OSError("no heap")

        self.addCleanup(setattr, _cleanup, "_malloc_trim", _cleanup._malloc_trim)
        _cleanup._malloc_trim = broken
        c = tidemark.Cleanup(every=1, zero_grad=False)
        for _ in range(3):
            c.step()
        self.assertIn("trim         left out: OSError: no heap", c.summary())
        self.assertEqual((c.counts["trim"].times, c.counts["gc"].times), (0, 3))


# ---- loops: each trains with `after_step`, which is Cleanup.step or nothing ----


def device():
    return "cuda" if torch.cuda.is_available() else "cpu"


def network():
    """Two parts, of which the second is not always used."""
    torch.manual_seed(1)
    return torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)]).to(device())


def batches(count=24):
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(4, 8, generator=generator).to(device()) for _ in range(count)]


def loss_of(model, x, both=True):
    x = model[0](x).tanh()
    return (model[1](x) if both else x).pow(2).mean()


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01, **options)


def zeroes_first(after_step):
    model = network()
    optimizer = sgd(model)
    for x in batches():
        optimizer.zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        optimizer.step()
        after_step()
    return model


def zeroes_last(after_step):
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    for x in batches():
        loss_of(model, x).backward()
        optimizer.step()
        model.zero_grad(set_to_none=True)
        after_step()
    return model


def accumulates(after_step):
    """A cleanup after every batch, three batches a step."""
    model = network()
    optimizer = sgd(model)
    for i, x in enumerate(batches()):
        if i % 3 == 0:
            optimizer.zero_grad(set_to_none=True)
        loss_of(model, x, both=i % 2).backward()
        after_step()
        if i % 3 == 2:
            optimizer.step()
            after_step()
    return model


def keeps_zeros(after_step):
    """A part that is not used goes on by its momentum: its gradient is 0, and not None."""
    model = network()
    optimizer = sgd(model)
    for i, x in enumerate(batches()):
        optimizer.zero_grad(set_to_none=False)
        loss_of(model, x, both=i % 3 == 0).backward()
        optimizer.step()
        after_step()
    return model


def never_zeroes(after_step):
    model = network()
    optimizer = sgd(model)
    for x in batches():
        loss_of(model, x).backward()
        optimizer.step()
        after_step()
    return model


def replaces_and_never_zeroes(after_step):
    """Each step has new gradients, made of the old ones."""
    model = network()
    optimizer = sgd(model)
    for x in batches():
        loss_of(model, x).backward()
        for p in model.parameters():
            p.grad = 0.5 * p.grad
        optimizer.step()
        after_step()
    return model


def with_graph_of_gradients(after_step):
    """backward(create_graph=True) adds to gradients by making new ones."""
    model = network()
    optimizer = sgd(model)
    for x in batches():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss_of(model, x).backward(create_graph=True)
        optimizer.step()
        after_step()
        for p in model.parameters():
            p.grad = p.grad.detach()
    return model


def zeroes_by_hand(after_step):
    model = network()
    optimizer = sgd(model)
    for i, x in enumerate(batches()):
        for p in model.parameters():
            p.grad = None
        loss_of(model, x, both=i % 2).backward()
        optimizer.step()
        after_step()
    return model


def zeroes_one_part(after_step):
    """The other part's gradients add up for ever."""
    model = network()
    optimizer = sgd(model)
    for x in batches():
        model[0].zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        optimizer.step()
        after_step()
    return model


def two_players(after_step):
    """As in a GAN: the second one's loss leaves gradients in the first one's network."""
    model = network()
    first, second = (torch.optim.Adam(part.parameters(), lr=0.01) for part in model)
    for x in batches():
        first.zero_grad(set_to_none=True)
        model[0](x).pow(2).mean().backward()
        first.step()
        after_step()
        second.zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        second.step()
        after_step()
    return model


def two_optimizers_of_the_same(after_step):
    """The second one uses what the first one has used already."""
    model = network()
    first, second = sgd(model), torch.optim.Adam(model.parameters(), lr=0.01)
    for i, x in enumerate(batches()):
        first.zero_grad(set_to_none=True)
        loss_of(model, x, both=i % 2).backward()
        first.step()
        after_step()
        second.step()
        after_step()
    return model


def second_one_now_and_then(after_step):
    """Right after the cleanup, where it is made every five steps."""
    model = network()
    first, second = sgd(model), torch.optim.Adam(model.parameters(), lr=0.01)
    for i, x in enumerate(batches()):
        first.zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        first.step()
        after_step()
        if i % 5 == 4:
            second.step()
    return model


def second_one_later(after_step):
    """Made when the first one's habits are known."""
    model = network()
    first, second = sgd(model), None
    for i, x in enumerate(batches()):
        first.zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        first.step()
        if i == 12:
            second = torch.optim.Adam(model.parameters(), lr=0.01)
        after_step()
        if second is not None:
            second.step()
    return model


class SkippingScaler:
    """torch.cuda.amp.GradScaler's way, where there is no CUDA: a step with infinities is none."""

    def __init__(self):
        self.steps = 0

    def scale(self, loss):
        return loss

    def step(self, optimizer):
        self.steps += 1
        if self.steps % 4:
            optimizer.step()

    def update(self):
        pass


def scaled(after_step):
    """A step that is skipped leaves its gradients, and they are added to before the next."""
    model = network()
    optimizer = sgd(model)
    scaler = torch.cuda.amp.GradScaler() if device() == "cuda" else SkippingScaler()
    for i, x in enumerate(batches(40)):
        if i % 4 != 0:
            optimizer.zero_grad(set_to_none=True)
        scale = 1e30 if device() == "cuda" and i % 4 == 3 else 1
        with torch.autocast(device(), enabled=device() == "cuda"):
            loss = loss_of(model, x * scale)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        after_step()
    return model


def by_closure(after_step):
    model = network()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    for x in batches():
        def closure():
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model, x)
            loss.backward()
            return loss

        optimizer.step(closure)
        after_step()
    return model


def twice_through_the_graph(after_step):
    model = network()
    optimizer = sgd(model)
    for x in batches():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, x)
        loss.backward(retain_graph=True)
        after_step()
        loss.backward()
        optimizer.step()
        after_step()
    return model


def looks_after_the_step(after_step):
    """A second backward() adds to what the step has used, is read, and is thrown away."""
    model = network()
    optimizer = sgd(model)
    for x in batches():
        loss_of(model, x).backward()
        optimizer.step()
        after_step()
        loss_of(model, x).backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(0.01 * p.grad)
        optimizer.zero_grad(set_to_none=True)
    return model


def adds_parameters(after_step):
    model = network()
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1, momentum=0.9)
    for i, x in enumerate(batches()):
        if i == 8:
            optimizer.add_param_group({"params": model[1].parameters()})
        optimizer.zero_grad(set_to_none=True)
        loss_of(model, x).backward()
        optimizer.step()
        after_step()
    return model


LOOPS = (zeroes_first, zeroes_last, accumulates, keeps_zeros, never_zeroes,
         replaces_and_never_zeroes, with_graph_of_gradients, zeroes_by_hand, zeroes_one_part,
         two_players, two_optimizers_of_the_same, second_one_now_and_then, second_one_later,
         scaled, by_closure, twice_through_the_graph,
         looks_after_the_step, adds_parameters)


@needs_torch
class Weights(Case):
    def test_are_the_same_bit_for_bit(self):
        for loop in LOOPS:
            without = list(loop(lambda: None).parameters())
            for every in (1, 5):
                with self.subTest(loop=loop.__name__, every=every):
                    with tidemark.Cleanup(every=every, gc=False) as cleanup:
                        after = list(loop(cleanup.step).parameters())
                    self.assertTrue(all(torch.equal(a, b) for a, b in zip(without, after)))
                    self.assertIsNone(cleanup._gradients.failure)

    def test_are_the_same_where_little_is_watched(self):
        """Only the steps before a cleanup, as in a model of many parameters."""
        self.addCleanup(setattr, _cleanup._Gradients, "_can_afford",
                        _cleanup._Gradients._can_afford)
        _cleanup._Gradients._can_afford = lambda gradients: False
        self.test_are_the_same_bit_for_bit()
        self.assertGreater(self.dropped_by(zeroes_first)[0], 8)

    @unittest.skipUnless(hasattr(torch, "compile"), "this torch does not compile")
    def test_of_a_compiled_step_too(self):
        def compiled(after_step):
            model = network()
            optimizer = torch.optim.Adam(model.parameters())
            step = torch.compile(optimizer.step, backend="eager")
            for x in batches(8):
                optimizer.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                step()
                after_step()
            return model

        without = list(compiled(lambda: None).parameters())
        with tidemark.Cleanup(every=1, gc=False) as cleanup:
            after = list(compiled(cleanup.step).parameters())
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(without, after)))
        self.assertIsNone(cleanup._gradients.why_left_alone())

    def dropped_by(self, loop, **options):
        """How many gradients have gone, over all cleanups."""
        gone = []
        with tidemark.Cleanup(every=1, gc=False, **options) as cleanup:
            drop = cleanup._gradients.drop

            def counting(optimizer):
                dropped = drop(optimizer)
                gone.extend(r for r, _ in cleanup._gradients._open_records()
                            if r.state == _cleanup.DROPPED)
                return dropped

            cleanup._gradients.drop = counting
            loop(cleanup.step)
        return len(gone), cleanup.summary()

    def test_what_a_handler_of_the_program_raises_gets_through(self):
        class Late(Exception):
            pass

        def collect():
            raise Late

        with mock.patch.object(_cleanup.gc, "collect", collect):
            with tidemark.Cleanup(every=1, trim=False) as cleanup:
                with self.assertRaises(Late):
                    cleanup.step()
        self.assertEqual(cleanup.counts["gc"].times, 1)
        self.assertNotIn("left out", cleanup.summary())

    def test_where_nothing_was_dropped_others_have_freed_it(self):
        held = (_cleanup._Held((1000 - i) * MB, 0, 0, 0) for i in range(100))
        with mock.patch.object(_cleanup, "_held_now", lambda: next(held)):
            cleanup = tidemark.Cleanup(every=1, gc=False)
            cleanup.step()
        cleanup.close()
        self.assertEqual(cleanup.counts["zero_grad"].freed_host, 0)
        self.assertEqual(cleanup.counts["trim"].freed_host, MB)

    def test_gradients_go_where_the_loop_drops_them_itself(self):
        for loop in (zeroes_first, accumulates, by_closure, scaled, two_players,
                     twice_through_the_graph):
            self.assertGreater(self.dropped_by(loop)[0], 8, loop.__name__)

    def test_and_nowhere_else(self):
        why = {"keeps_zeros": "this loop keeps them as zeros; "
                              "optimizer.zero_grad(set_to_none=True) would give back 1 KB",
               "never_zeroes": "has not set them to None",
               "replaces_and_never_zeroes": "has not set them to None",
               "with_graph_of_gradients": "has not set them to None",
               "zeroes_by_hand": "has not set them to None",
               "two_optimizers_of_the_same": "two optimizers share the parameters",
               "looks_after_the_step": ""}
        for loop in LOOPS:
            if loop.__name__ in why:
                dropped, said = self.dropped_by(loop)
                self.assertEqual(dropped, 0, loop.__name__)
                self.assertIn("gradients left alone: ", said)
                self.assertIn(why[loop.__name__], said)

    def test_a_wrapper_is_no_second_optimizer(self):
        class Wrapper(torch.optim.Optimizer):
            def __init__(self, inner):
                self.inner = inner

            @property
            def param_groups(self):
                return self.inner.param_groups

        def loop(after_step):
            model = network()
            optimizer = sgd(model)
            wrapper = Wrapper(optimizer)
            for x in batches():
                optimizer.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                wrapper.inner.step()
                after_step()

        self.assertGreater(self.dropped_by(loop)[0], 8)

    def test_an_optimizer_from_before_that_never_stepped(self):
        model = network()
        first, second = sgd(model), sgd(model)
        with tidemark.Cleanup(every=1, gc=False) as cleanup:
            for x in batches(8):
                first.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                first.step()
                cleanup.step()
        self.assertIsNotNone(model[0].weight.grad)
        self.assertIn("two optimizers share the parameters", cleanup.summary())
        self.assertEqual(len(second.state), 0)

    def test_of_one_optimizer_alone(self):
        model = network()
        first, second = (torch.optim.SGD(part.parameters(), lr=0.1) for part in model)
        with tidemark.Cleanup(every=1, gc=False) as cleanup:
            for x in batches(6):
                first.zero_grad(set_to_none=True)
                second.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                first.step()
                second.step()
                cleanup.step(second)
        self.assertIsNotNone(model[0].weight.grad)
        self.assertIsNone(model[1].weight.grad)

    def test_an_evaluation_has_their_memory(self):
        layer = torch.nn.Linear(2048, 2048).to(device())
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        with tidemark.Cleanup(every=1) as cleanup:
            for _ in range(5):
                optimizer.zero_grad(set_to_none=True)
                layer(torch.ones(1, 2048, device=device())).sum().backward()
                optimizer.step()
                cleanup.step()
        self.assertIsNone(layer.weight.grad)
        count = cleanup.counts["zero_grad"]
        self.assertEqual(count.useful, 3)
        self.assertGreaterEqual(count.freed_host + count.freed_allocated, 3 * 16 * MB)

    def test_nothing_is_kept_alive(self):
        model = network()
        optimizer = sgd(model)
        with tidemark.Cleanup(every=1) as cleanup:
            for x in batches(5):
                optimizer.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                optimizer.step()
                cleanup.step()
            gone = weakref.ref(optimizer), weakref.ref(model[0].weight)
            del optimizer, model
            gc.collect()
            self.assertEqual([r() for r in gone], [None, None])

    def test_torch_is_as_it_was_after_the_last_close(self):
        def seen():
            optimizers = sys.modules["torch.optim.optimizer"]
            hooks = getattr(optimizers, "_global_optimizer_post_hooks", {})
            return (torch.optim.Optimizer.zero_grad, torch.nn.Module.zero_grad, len(hooks),
                    torch.optim.Optimizer.add_param_group,
                    torch.autograd.profiler.record_function.__exit__)

        before = seen()
        first, second = tidemark.Cleanup(), tidemark.Cleanup()
        self.assertNotEqual(seen(), before)
        first.close()
        self.assertNotEqual(seen(), before)
        second.close()
        self.assertEqual(seen(), before)

    def test_what_can_be_copied_and_saved_still_can(self):
        model = network()
        optimizer = sgd(model)
        with tidemark.Cleanup(every=1) as cleanup:
            for x in batches(4):
                optimizer.zero_grad(set_to_none=True)
                loss_of(model, x).backward()
                optimizer.step()
                cleanup.step()
            for saved in (model, optimizer, optimizer.state_dict()):
                copy.deepcopy(saved)
                torch.save(saved, io.BytesIO())

    def test_a_failing_step_is_the_programs(self):
        class Wrong(torch.optim.SGD):
            def step(self, closure=None):
                raise RuntimeError("in step")

        model = network()
        with tidemark.Cleanup(every=1) as cleanup:
            with self.assertRaisesRegex(RuntimeError, "in step"):
                Wrong(model.parameters(), lr=0.1).step()
            cleanup.step()
