"""Losses that are tensors and arrays: on the CPU with torch, on a device with a stand-in."""

import math
import sys
import types
import unittest

import tidemark
from support import Case, needs_torch, output, torch
from tidemark._torch import LossOnDevice

try:
    import numpy
except ImportError:
    numpy = None


@unittest.skipUnless(numpy, "no NumPy in this interpreter")
class Arrays(Case):
    def test_scalars_and_arrays_of_one_value(self):
        w = tidemark.Watcher(print_every=0)
        for loss in (numpy.float32(0.5), numpy.float64(0.25), numpy.array(2.0),
                     numpy.array([3.0]), numpy.int64(4)):
            w.step(loss)
        self.assertEqual(w.loss_tracker.losses, [0.5, 0.25, 2.0, 3.0, 4.0])

    def test_several_values(self):
        w = tidemark.Watcher(print_every=0)
        with self.warned("could not read the loss", "loss.mean()"):
            w.step(numpy.zeros(3))
            w.step(numpy.zeros(3))
        self.assertEqual(w.step_count, 2)


@needs_torch
class Tensors(Case):
    def test_every_sync_interval_steps_their_mean(self):
        w = tidemark.Watcher(print_every=0, sync_interval=5)
        for i in range(10):
            w.step(torch.tensor(float(i)))
        self.assertEqual(w.loss_tracker.losses, [2.0, 7.0])

    def test_a_number_and_the_end_of_an_epoch_take_the_rest(self):
        w = tidemark.Watcher(print_every=0)
        w.step(torch.tensor(1.0))
        w.step(2.0)
        w.step(torch.tensor(3.0))
        self.assertEqual(w.loss_tracker.losses, [1.0, 2.0])
        w.epoch_end()
        self.assertEqual(w.loss_tracker.losses, [1.0, 2.0, 3.0])

    def test_shapes_and_types(self):
        w = tidemark.Watcher(print_every=0, sync_interval=1)
        for loss in (torch.tensor([0.5]), torch.tensor([[0.5]]), torch.tensor(0.5).half(),
                     torch.tensor(0.5).bfloat16(), torch.tensor(0.5, requires_grad=True) * 1,
                     torch.nn.Parameter(torch.tensor(0.5))):
            w.step(loss)
        self.assertEqual(w.loss_tracker.losses, [0.5] * 6)

    def test_several_values_and_none(self):
        w = tidemark.Watcher(print_every=0)
        with self.warned("could not read the loss", "loss.mean()"):
            for loss in (torch.zeros(3), torch.zeros(0)):
                w.step(loss)
        with self.warned("could not read the loss", "complex"):
            w.step(torch.tensor(1j))
        self.assertEqual(w.step_count, 3)

    def test_a_graph_is_not_kept(self):
        import gc
        import weakref
        w = tidemark.Watcher(print_every=0)
        weight = torch.ones(3, requires_grad=True)
        loss = (weight * 2).sum()
        graph = weakref.ref(loss)
        w.step(loss)
        del loss
        gc.collect()
        self.assertIsNone(graph())

    def test_nan_at_once(self):
        with output() as out:
            tidemark.Watcher().step(torch.tensor(math.nan))
        self.assertIn("loss is nan at step 1", out.getvalue())

    def test_no_cuda_no_vram(self):
        if torch.cuda.is_available():
            self.skipTest("there is CUDA")
        w = tidemark.Watcher(print_every=1)
        with output() as out:
            w.step(torch.tensor(0.5))
        self.assertNotIn("VRAM", out.getvalue())

    def test_rank_of_a_process_group(self):
        if not torch.distributed.is_available():
            self.skipTest("torch without its distributed part")
        import tempfile
        with tempfile.NamedTemporaryFile() as f:
            torch.distributed.init_process_group("gloo", init_method=f"file://{f.name}x", rank=0,
                                                 world_size=1)
            self.addCleanup(torch.distributed.destroy_process_group)
            from tidemark import _torch
            self.assertEqual(_torch.rank(), 0)


class Device:
    """A GPU's queue: what was sent arrives when it has worked."""

    def __init__(self):
        self.done = False
        self.waited = 0


class Tensor:
    """On that GPU. Waiting for it is counted."""

    is_cpu, is_cuda, dtype, device = False, True, "float32", "cuda:0"

    def __init__(self, gpu, value):
        self.gpu, self.value = gpu, value

    def detach(self):
        return Tensor(self.gpu, self.value)

    def dim(self):
        return 0

    def item(self):
        self.gpu.waited += 1
        return self.value

    __float__ = item


class Buffer:
    """Pinned memory: a copy arrives when the device has come so far."""

    def __init__(self, gpu):
        self.gpu = gpu

    def fill_(self, value):
        self.value = value

    def copy_(self, source, non_blocking):
        assert non_blocking
        self.gpu.done = False
        self.copied = source.value

    def item(self):
        return self.copied if self.gpu.done else self.value


def stand_in(gpu):
    """As much of torch as is asked of it."""

    def synchronize(device):
        gpu.waited += 1
        gpu.done = True

    def memory_stats_as_nested_dict(device):
        return {"allocated_bytes": {"all": {"current": 25 * 2**20}},
                "reserved_bytes": {"all": {"current": 50 * 2**20}}}

    cuda = types.SimpleNamespace(synchronize=synchronize, is_initialized=lambda: True,
                                 memory_stats_as_nested_dict=memory_stats_as_nested_dict)
    return types.SimpleNamespace(Tensor=Tensor, cuda=cuda,
                                 finfo=lambda dtype: types.SimpleNamespace(min=-3.4e38),
                                 empty=lambda n, dtype, pin_memory: Buffer(gpu))


class OnADevice(Case):
    def setUp(self):
        self.gpu = Device()
        before = sys.modules.get("torch")
        sys.modules["torch"] = stand_in(self.gpu)
        self.addCleanup(lambda: sys.modules.__setitem__("torch", before) if before
                        else sys.modules.pop("torch"))

    def test_a_step_never_waits(self):
        w = tidemark.Watcher(print_every=0, sync_interval=10)
        for i in range(200):
            w.step(Tensor(self.gpu, float(i)))
        self.assertEqual((self.gpu.waited, w.loss_tracker.losses), (0, []))

    def test_values_come_when_they_have_arrived(self):
        w = tidemark.Watcher(print_every=0, sync_interval=10)
        for step in range(1, 41):
            w.step(Tensor(self.gpu, float(step)))
            self.gpu.done = step != 20
        self.assertEqual(w.loss_tracker.losses, [10.0, 20.0, 30.0])
        self.assertEqual(self.gpu.waited, 0)

    def test_the_end_of_an_epoch_waits_once(self):
        w = tidemark.Watcher(print_every=0, sync_interval=10)
        for step in range(1, 11):
            w.step(Tensor(self.gpu, float(step)))
        w.epoch_end()
        self.assertEqual((w.loss_tracker.losses, self.gpu.waited), ([10.0], 1))

    def test_a_line_shows_what_is_known(self):
        w = tidemark.Watcher(print_every=20, sync_interval=10)
        with output() as out:
            for step in range(1, 41):
                w.step(Tensor(self.gpu, float(step)))
                self.gpu.done = step >= 20
        lines = out.getvalue().splitlines()
        # At step 20 nothing has arrived: the first line has to wait for its own loss.
        self.assertIn("Step     20 | loss=20.0000 |", lines[0])
        self.assertIn("Step     40 | loss=30.0000 |", lines[1])
        self.assertTrue(lines[1].endswith("| VRAM=25MB"))
        self.assertEqual(self.gpu.waited, 1)

    def test_nan_is_said_when_it_is_known(self):
        w = tidemark.Watcher(sync_interval=10)
        self.gpu.done = True
        with output() as out:
            for step in range(1, 21):
                w.step(Tensor(self.gpu, math.nan if step == 10 else 1.0))
                self.gpu.done = True
        self.assertIn("loss is nan about 10 steps before step 20", out.getvalue())

    def test_nothing_of_the_loss_is_kept(self):
        import weakref
        sent = LossOnDevice()
        loss = Tensor(self.gpu, 1.0)
        gone = weakref.ref(loss)
        sent.exchange(loss)
        del loss
        self.assertIsNone(gone())
