"""TidemarkCallback and CleanupCallback with a real Lightning Trainer."""

import re
import unittest.mock
import warnings

from shared import event_values, phases, run_program, run_ranks
from support import Case, output, raising_signal
from tidemark.integrations import _shared
from tidemark.integrations.lightning import CleanupCallback, TidemarkCallback
from tiny_lightning import Tiny, lightning, loader, loggers, torch, trainer

# One process each: its memory is judged. 64 KB a step, a validation that takes 40 MB.
PROGRAM = """
    import time
    from tiny_lightning import HoardOutputs, Tiny, lightning, loader, trainer
    from tidemark.integrations.lightning import TidemarkCallback

    class Slow(Tiny):
        def training_step(self, batch, batch_idx):
            time.sleep(0.004)
            return super().training_step(batch, batch_idx)

    folder, kind = sys.argv[1:]
    callback = TidemarkCallback(print_every=200)
    hoards = [HoardOutputs()] if kind == "leak" else []
    trainer(folder, [callback, *hoards], max_epochs=4, val_check_interval=50).fit(
        Slow(40 * 1024 * 1024), loader(1600), loader(16))
    print("answer:", callback.watcher.verdict("host.anon").answer)
    print("steps:", callback.watcher.step_count)
    """

RANKS = """
    from tiny_lightning import Tiny, loader, trainer
    from tidemark.integrations.lightning import TidemarkCallback
    trainer("out", [TidemarkCallback(print_every=5, run_file="run.tide")], max_steps=10,
            devices=2, strategy="ddp").fit(Tiny(), loader())
    """


# With the line that adds to it: below the warning, or after it as soon as it is known.
HELD = (r"why(?: \(known at step \d+\))?: list `HoardOutputs\.history`, attribute of a class "
        r"\(.*tiny_lightning\.py:31\): \+1\.\d\d tensors a step \(.*\), about 6\d\.\d KB of host memory")


class KnownTruth(Case):
    def test_a_callback_that_hoards_is_a_leak_and_is_named(self):
        code, said = run_program(PROGRAM, str(self.folder()), "leak")
        self.assertEqual(code, 0, said)
        self.assertIn("answer: leak", said)
        warned = re.search(r"WARNING: step \d+: LEAK .*host\.anon grows (\d+\.\d) KB/step", said)
        self.assertIsNotNone(warned, said)
        self.assertAlmostEqual(float(warned[1]), 64, delta=10)
        before, end = said.split("tidemark: 800 steps")
        self.assertRegex(before, HELD)
        self.assertIn("verdict: LEAK", end)
        self.assertRegex(end, HELD)

    def test_its_clean_twin_is_not_and_validations_are_spikes(self):
        code, said = run_program(PROGRAM, str(self.folder()), "clean")
        self.assertEqual(code, 0, said)
        self.assertIn("answer: no_leak", said)
        self.assertNotIn("WARNING", said)
        self.assertNotIn("why: list", said)
        self.assertIn("steps: 800", said)

    def test_two_ranks_record_and_one_speaks(self):
        folder = self.folder()
        (code0, first), (code1, second) = run_ranks(RANKS, folder)
        self.assertEqual((code0, code1), (0, 0), first + second)
        self.assertIn("Step     10", first)
        self.assertIn("verdict:", first)
        for word in ("Step ", "Verdict", "tidemark: "):
            self.assertNotIn(word, second)
        self.assertEqual(sorted(p.name for p in folder.glob("*.tide")),
                         ["run-rank0.tide", "run-rank1.tide"])

    def test_the_other_package_takes_it_too(self):
        """The callback is made with one of Lightning's two packages, the trainer with the other."""
        try:
            import pytorch_lightning  # noqa: F401
        except ImportError:
            self.skipTest("no pytorch_lightning")
        code, said = run_program("""
            from tidemark.integrations.lightning import TidemarkCallback
            from tiny_lightning import NAME, Tiny, loader, trainer
            print(NAME, *(kind.__module__ for kind in TidemarkCallback.__mro__))
            callback = TidemarkCallback(print_every=5)
            trainer(sys.argv[1], [callback], max_steps=10).fit(Tiny(), loader())
            """, str(self.folder()), LIGHTNING="pytorch_lightning")
        self.assertEqual(code, 0, said)
        self.assertIn("pytorch_lightning tidemark", said)
        self.assertIn("Step     10", said)


class Steps(Case):
    def trained(self, callback, callbacks=(), module=None, checkpoint=None, folder=None, data=None,
                validation=None, **arguments):
        t = trainer(folder or self.folder(), [callback, *callbacks], **arguments)
        with output() as out:
            t.fit(module or Tiny(), data or loader(), validation, ckpt_path=checkpoint)
        self.said = out.getvalue()
        return t

    def test_steps_are_those_of_the_optimizer(self):
        callback = TidemarkCallback(print_every=4)
        t = self.trained(callback, max_steps=12, accumulate_grad_batches=2)
        self.assertEqual((t.global_step, callback.watcher.step_count), (12, 12))
        self.assertEqual(re.findall(r"Step +(\d+) \| loss=\d", self.said), ["4", "8", "12"])

    def test_two_optimizers_make_one_step(self):
        class Two(Tiny):
            def __init__(self):
                super().__init__()
                self.automatic_optimization = False

            def training_step(self, batch, batch_idx):
                for optimizer in self.optimizers():
                    optimizer.zero_grad()
                    loss = super().training_step(batch, batch_idx)
                    self.manual_backward(loss)
                    optimizer.step()

            def configure_optimizers(self):
                return [torch.optim.SGD(self.parameters(), 1e-3) for _ in range(2)]

        callback = TidemarkCallback()
        t = self.trained(callback, module=Two(), max_epochs=1)
        self.assertEqual((t.global_step, callback.watcher.step_count), (64, 32))

    def test_epochs_and_what_the_end_says(self):
        callback = TidemarkCallback()
        self.trained(callback, max_epochs=2)
        self.assertEqual((callback.watcher.step_count, callback.watcher.epoch_count), (64, 2))
        self.assertTrue(callback.watcher.closed)
        self.assertNotRegex(self.said, r"Summary:\n=+\n(?!   )")  # with nothing in it
        for part in ("✓ Epoch 1 complete", "tidemark: 64 steps in ",
                     "   verdict: ", "   Host memory: ", "since step 10", "   Objects: "):
            self.assertIn(part, self.said)

    def test_a_training_is_resumed(self):
        folder = self.folder()
        t = self.trained(TidemarkCallback(), folder=folder, max_steps=6)
        t.save_checkpoint(folder / "six.ckpt")
        callback = TidemarkCallback(print_every=1)
        self.trained(callback, folder=folder, max_steps=10, checkpoint=str(folder / "six.ckpt"))
        self.assertEqual(re.findall(r"Step +(\d+) \|", self.said), ["7", "8", "9", "10"])
        self.assertIn("tidemark: 4 steps in", self.said)

    def test_silence(self):
        self.trained(TidemarkCallback(print_every=0), max_steps=5)
        self.assertEqual(self.said, "")

    def test_a_mistake_in_an_argument_shows_at_once(self):
        with self.assertRaisesRegex(ValueError, r"TidemarkCallback\(\) needs print_every= a whole"):
            TidemarkCallback(print_every=-1)

    def test_a_training_that_fails_has_its_end(self):
        class Fails(Tiny):
            def training_step(self, batch, batch_idx):
                if batch_idx == 5:
                    raise ZeroDivisionError
                return super().training_step(batch, batch_idx)

        callback = TidemarkCallback()
        with self.assertRaises(ZeroDivisionError), output() as out:
            trainer(self.folder(), [callback]).fit(Fails(), loader())
        self.assertIn("tidemark: 5 steps in", out.getvalue())

    # ---- phases ----

    def test_validation_and_checkpoints_have_their_names(self):
        seen = []

        class Telling(Tiny):
            def on_validation_epoch_start(self):
                seen.append("validates")

        saver = lightning.callbacks.ModelCheckpoint(save_top_k=-1)
        with phases(seen):
            self.trained(TidemarkCallback(), [saver], Telling(), validation=loader(16),
                         max_epochs=2, enable_checkpointing=True)
        one = ["begin validation", "validates", "end validation", "begin checkpoint",
               "end checkpoint"]
        self.assertEqual(seen[-2 * len(one):], one * 2)

    # ---- metrics ----

    def test_metrics_reach_tensorboard(self):
        folder = self.folder()
        with unittest.mock.patch.object(_shared, "METRICS_SHARE_OF_TIME", 1e9):
            self.trained(TidemarkCallback(print_every=0), max_epochs=5, log_every_n_steps=20,
                         logger=loggers.TensorBoardLogger(str(folder)))
        values = event_values(folder)
        self.assertEqual([step for step, _ in values["memory/host_mb"]],
                         [step for step, _ in values["loss"]])
        self.assertEqual(len(values["memory/host_mb"]), 8)
        self.assertTrue(all(10 < value < 1e5 for _, value in values["memory/host_mb"]))
        self.assertIn("memory/growth_mb_per_step", values)
        self.assertEqual("memory/torch_allocated_mb" in values, torch.cuda.is_available())

    # ---- harmlessness ----

    def test_what_a_signal_handler_raises_goes_to_the_program(self):
        with raising_signal(TimeoutError) as signal_it, self.assertRaises(TimeoutError):
            with unittest.mock.patch.object(_shared.Training, "step", signal_it):
                self.trained(TidemarkCallback(), max_steps=5)

    def test_a_hook_that_fails_is_told_once_and_training_goes_on(self):
        with unittest.mock.patch.object(_shared.Training, "step", side_effect=KeyError("x")):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                t = self.trained(TidemarkCallback(), max_steps=5)
        self.assertEqual(t.global_step, 5)
        told = [str(w.message) for w in seen if "tidemark" in str(w.message)]
        self.assertEqual(told, ["tidemark: on_train_batch_end: KeyError: 'x'; training goes on"])

    def test_weights_are_the_same_bit_for_bit(self):
        plain = self.weights([])
        self.assertEqual(plain, self.weights([TidemarkCallback(print_every=2)]))
        cleaned = CleanupCallback(every=1)
        self.assertEqual(plain, self.weights([cleaned]))
        self.assertEqual(cleaned.cleanup.steps, 22)
        self.assertIn("Cleanup: 24 times in 22 steps", self.said)

    def weights(self, callbacks):
        module = Tiny()
        t = trainer(self.folder(), callbacks, max_epochs=2, accumulate_grad_batches=3,
                    gradient_clip_val=0.1)
        with output() as out:
            t.fit(module, loader(), loader(16))
        self.said = out.getvalue()
        return [p.detach().cpu().numpy().tobytes() for p in module.parameters()]
