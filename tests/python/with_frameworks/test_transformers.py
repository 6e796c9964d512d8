"""TidemarkCallback and CleanupCallback with a real Trainer."""

import re
import subprocess
import sys
import textwrap
import unittest.mock
import warnings

import tidemark._program
from shared import HERE, event_values, phases, run_program, run_ranks
from support import Case, output, raising_signal
from tidemark.integrations import _shared
from tidemark.integrations.transformers import CleanupCallback, TidemarkCallback
from tiny_transformers import Sentences, Trainer, TrainerCallback, tiny_model, torch, trainer

# One process each: its memory is judged. 64 KB a step, an evaluation that takes 40 MB.
PROGRAM = """
    import torch
    from tiny_transformers import HoardMetrics, trainer
    from tidemark.integrations.transformers import TidemarkCallback

    def take_much(prediction):
        return {"much": float(torch.ones(10 * 1024 * 1024).sum())}

    folder, kind = sys.argv[1:]
    callback = TidemarkCallback(print_every=200)
    hoards = [HoardMetrics()] if kind == "leak" else []
    t = trainer(folder, [callback, *hoards], train=800, max_steps=800, eval_strategy="steps",
                eval_steps=80)
    t.compute_metrics = take_much
    t.train()
    print("answer:", callback.watcher.verdict("host.anon").answer)
    print("steps:", callback.watcher.step_count)
    """

SPIKES = """
    import time, torch
    from tiny_transformers import trainer
    from tidemark.integrations.transformers import TidemarkCallback

    def take_much(prediction):
        taken = torch.ones(64 * 1024 * 1024)
        time.sleep(0.5)
        return {"much": float(taken.sum())}

    t = trainer("out", [TidemarkCallback(print_every=0)], max_steps=300, train=2000,
                gradient_accumulation_steps=2, eval_strategy="steps", eval_steps=60)
    t.compute_metrics = take_much
    t.train()
    """

RANKS = """
    import gc
    import torch
    if not hasattr(torch.cpu, "device_count"):  # accelerate asks for them, torch 1.13 has none
        torch.cpu.device_count, torch.cpu.set_device = lambda: 1, lambda device: None
    torch.distributed.init_process_group("gloo")
    from tiny_transformers import Words, trainer
    from tidemark.integrations.transformers import TidemarkCallback
    t = trainer("out", [TidemarkCallback(print_every=5, run_file="run.tide")], model=Words(),
                max_steps=10, ddp_backend="gloo", use_cpu=True)
    t.train()
    # Else threads of torch 1.13 are left as the interpreter ends, and it aborts now and then, with
    # a callback or without.
    del t
    gc.collect()
    torch.distributed.destroy_process_group()
    """


# With the line that adds to it: below the warning, or after it as soon as it is known.
HELD = (r"why(?: \(known at step \d+\))?: list `\S*\.history`, attribute of `HoardMetrics` "
        r"\(.*tiny_transformers\.py:38\): \+1\.\d\d items a step \(.*\), about 6\d\.\d KB of host memory")


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
        self.assertNotIn("log_history", said)
        self.assertRegex(end, r"torch\.Tensor: [\d,]+ \(\+[789]\d\d\)")

    def test_its_clean_twin_is_not_and_evaluations_are_spikes(self):
        code, said = run_program(PROGRAM, str(self.folder()), "clean")
        self.assertEqual(code, 0, said)
        self.assertIn("answer: no_leak", said)
        self.assertNotIn("WARNING", said)
        self.assertNotIn("why: list", said)
        self.assertIn("steps: 800", said)

    def test_under_tidemark_run_steps_are_heard_and_spikes_have_names(self):
        folder = self.folder()
        (folder / "train.py").write_text(
            f"import sys; sys.path.insert(0, {str(HERE)!r})\n" + textwrap.dedent(SPIKES))
        said = subprocess.run([tidemark._program.PROGRAM, "run", "--full", "--", sys.executable,
                               "train.py"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300).stdout
        self.assertIn("300 steps counted by the program itself", said)
        self.assertRegex(said, r"5 of 5\s+during evaluate")

    def test_two_ranks_record_and_one_speaks(self):
        folder = self.folder()
        (code0, first), (code1, second) = run_ranks(RANKS, folder)
        self.assertEqual((code0, code1), (0, 0), first + second)
        self.assertIn("Step     10", first)
        self.assertIn("verdict:", first)
        for word in ("Step ", "Verdict", "tidemark"):
            self.assertNotIn(word, second)
        self.assertEqual(sorted(p.name for p in folder.glob("*.tide")),
                         ["run-rank0.tide", "run-rank1.tide"])


class Steps(Case):
    def trained(self, callback, callbacks=(), resume=None, kind=Trainer, folder=None, **arguments):
        t = trainer(folder or self.folder(), [callback, *callbacks], kind, **arguments)
        with output() as out:
            t.train(resume_from_checkpoint=resume)
        self.said = out.getvalue()
        return t

    def test_steps_are_those_of_the_optimizer(self):
        callback = TidemarkCallback(print_every=4)
        t = self.trained(callback, max_steps=12, gradient_accumulation_steps=3)
        self.assertEqual((t.state.global_step, callback.watcher.step_count), (12, 12))
        self.assertEqual(re.findall(r"Step +(\d+) \|", self.said), ["4", "8", "12"])

    def test_epochs_and_what_the_end_says(self):
        callback = TidemarkCallback()
        self.trained(callback, num_train_epochs=2)
        self.assertEqual((callback.watcher.step_count, callback.watcher.epoch_count), (64, 2))
        self.assertTrue(callback.watcher.closed)
        self.assertNotRegex(self.said, r"Summary:\n=+\n(?!   )")  # with nothing in it
        for part in ("✓ Epoch 1 complete", "tidemark: 64 steps in ",
                     "   verdict: ", "   Host memory: ", "since step 10", "   Objects: ",
                     "   Large tensors: none of 1 MB or more"):
            self.assertIn(part, self.said)

    def test_a_training_is_resumed(self):
        folder = self.folder()
        self.trained(TidemarkCallback(), folder=folder, max_steps=6, save_strategy="steps",
                     save_steps=6)
        callback = TidemarkCallback(print_every=1)
        self.trained(callback, folder=folder, max_steps=10, resume=str(folder / "checkpoint-6"))
        self.assertEqual(callback.watcher.step_count, 10)
        self.assertEqual(re.findall(r"Step +(\d+) \|", self.said), ["7", "8", "9", "10"])
        self.assertIn("tidemark: 4 steps in", self.said)

    def test_trained_twice(self):
        callback = TidemarkCallback(print_every=5)
        t = self.trained(callback, max_steps=5)
        first = callback.watcher
        with output() as out:
            t.train()
        self.assertIsNot(callback.watcher, first)
        self.assertEqual(callback.watcher.step_count, 5)
        self.assertEqual(out.getvalue().count("tidemark: 5 steps"), 1)

    def test_silence(self):
        self.trained(TidemarkCallback(print_every=0, metrics=False), max_steps=5,
                     logging_strategy="no")
        self.assertNotRegex(self.said, "Step|Verdict|tidemark|memory/")

    def test_a_mistake_in_an_argument_shows_at_once(self):
        with self.assertRaisesRegex(ValueError, r"TidemarkCallback\(\) needs print_every= a whole"):
            TidemarkCallback(print_every=-1)
        with self.assertRaisesRegex(TypeError, r"TidemarkCallback\(\) needs on_leak= a function"):
            TidemarkCallback(on_leak=3)

    # ---- phases ----

    def test_evaluation_and_saving_begin_and_end_where_they_do(self):
        seen = []
        with phases(seen):
            self.trained(TidemarkCallback(), kind=_telling(seen), max_steps=4,
                         eval_strategy="steps", eval_steps=2, save_strategy="steps", save_steps=4)
        self.assertEqual(seen, ["begin evaluate", "evaluates", "end evaluate",
                                "begin evaluate", "evaluates", "end evaluate",
                                "begin save", "saves", "end save"])

    def test_several_sets_are_evaluated_before_a_checkpoint(self):
        seen = []
        with phases(seen):
            self.trained(TidemarkCallback(), kind=_telling(seen), max_steps=2,
                         evaluate={"a": Sentences(8), "b": Sentences(8)}, eval_strategy="steps",
                         eval_steps=2, save_strategy="steps", save_steps=2)
        self.assertEqual([s for s in seen if s != "evaluates"],
                         ["begin evaluate", "end evaluate", "begin evaluate", "end evaluate",
                          "begin save", "saves", "end save"])

    def test_at_the_end_of_an_epoch(self):
        seen = []
        with phases(seen):
            self.trained(TidemarkCallback(), kind=_telling(seen), num_train_epochs=2,
                         eval_strategy="epoch", save_strategy="epoch")
        one = ["begin evaluate", "evaluates", "end evaluate", "begin save", "saves", "end save"]
        self.assertEqual(seen[:len(one)], one)
        self.assertEqual(seen[-len(one):], one)

    def test_who_decides_after_us_and_who_predicts_in_between(self):
        class Decides(TrainerCallback):
            def on_step_end(self, args, state, control, **kwargs):
                control.should_evaluate = state.global_step == 2
                control.should_save = state.global_step == 3

        class Predicts(TrainerCallback):
            def on_step_begin(self, args, state, control, **kwargs):
                if state.global_step == 3:
                    self.trainer.predict(Sentences(8))

        seen, predicts = [], Predicts()
        t = trainer(self.folder(), [TidemarkCallback(print_every=0), Decides(), predicts],
                    max_steps=4)
        predicts.trainer = t
        with phases(seen):
            t.train()
        self.assertEqual(seen, ["begin evaluate", "end evaluate", "begin save", "end save",
                                "begin predict", "end predict"])

    # ---- metrics ----

    def test_metrics_reach_tensorboard_and_the_history(self):
        folder = self.folder()
        with unittest.mock.patch.object(_shared, "METRICS_SHARE_OF_TIME", 1e9):
            t = self.trained(TidemarkCallback(print_every=0), folder=folder, max_steps=100,
                             report_to=["tensorboard"], eval_strategy="steps", eval_steps=50,
                             **_log_folder(folder))
        logged = {h["step"]: h["memory/host_mb"] for h in t.state.log_history
                  if "memory/host_mb" in h}
        self.assertEqual(sorted(logged), list(range(10, 101, 10)))
        self.assertTrue(all(10 < value < 1e5 for value in logged.values()), logged)
        self.assertFalse(any("memory/host_mb" in h for h in t.state.log_history if "loss" not in h))
        values = event_values(folder)
        shown = dict(values["train/memory/host_mb"])
        self.assertEqual(sorted(shown), sorted(logged))
        for step, value in logged.items():
            self.assertAlmostEqual(shown[step], value, delta=0.001 * value)
        self.assertIn("train/memory/growth_mb_per_step", values)
        self.assertEqual("train/memory/torch_allocated_mb" in values, torch.cuda.is_available())

    def test_no_metrics_where_they_would_be_felt(self):
        with unittest.mock.patch.object(_shared, "METRICS_SHARE_OF_TIME", 1e-9):
            t = self.trained(TidemarkCallback(print_every=0), max_steps=50)
        self.assertEqual([h["step"] for h in t.state.log_history if "memory/host_mb" in h], [10])

    def test_no_metrics_where_they_are_not_wanted(self):
        t = self.trained(TidemarkCallback(metrics=False), max_steps=20)
        self.assertFalse([h for h in t.state.log_history if "memory/host_mb" in h])

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
        self.assertEqual(t.state.global_step, 5)
        told = [str(w.message) for w in seen if "tidemark" in str(w.message)]
        self.assertEqual(told, ["tidemark: on_step_end: KeyError: 'x'; training goes on"])

    def test_also_where_training_begins(self):
        with unittest.mock.patch.object(_shared, "Training", side_effect=OSError("no")):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                t = self.trained(TidemarkCallback(), max_steps=5)
        self.assertEqual(t.state.global_step, 5)
        self.assertEqual(len([w for w in seen if "tidemark" in str(w.message)]), 1)

    def test_the_other_callbacks_are_called_as_before(self):
        class Counts(TrainerCallback):
            def __init__(self):
                self.calls = []

            def on_train_begin(self, *_, **__):
                self.calls.append("begin")

            def on_log(self, *_, **__):
                self.calls.append("log")

            def on_train_end(self, *_, **__):
                self.calls.append("end")

        before, after = Counts(), type("Counts2", (Counts,), {})()
        t = trainer(self.folder(), [before, TidemarkCallback(print_every=0), after], max_steps=10,
                    logging_steps=5)
        for _ in range(2):
            t.train()
        self.assertEqual(before.calls, ["begin", "log", "log", "log", "end"] * 2)
        self.assertEqual(after.calls, before.calls)

    def test_weights_are_the_same_bit_for_bit(self):
        plain = self.weights([])
        self.assertEqual(plain, self.weights([TidemarkCallback(print_every=2)]))
        cleaned = CleanupCallback(every=1)
        self.assertEqual(plain, self.weights([cleaned]))
        self.assertEqual(cleaned.cleanup.steps, 8)
        self.assertEqual(cleaned.cleanup.cleanups, 12)  # and after the evaluations
        self.assertIn("Cleanup: 12 times in 8 steps", self.said)

    def weights(self, callbacks):
        model = tiny_model()
        t = trainer(self.folder(), callbacks, model=model, max_steps=8, eval_strategy="steps",
                    eval_steps=2, gradient_accumulation_steps=3, max_grad_norm=0.1)
        with output() as out:
            t.train()
        self.said = out.getvalue()
        return [p.detach().cpu().numpy().tobytes() for p in model.parameters()]


def _telling(seen):
    """A Trainer that says when it evaluates and saves."""

    class Telling(Trainer):
        def evaluation_loop(self, *args, **options):
            seen.append("evaluates")
            return super().evaluation_loop(*args, **options)

        def _save_checkpoint(self, *args, **options):
            seen.append("saves")
            return super()._save_checkpoint(*args, **options)

    return Telling


def _log_folder(folder):
    """Where a version no longer takes it, it logs below its own folder."""
    import transformers
    return {"logging_dir": str(folder)} if transformers.__version__ < "5" else {}
