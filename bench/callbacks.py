#!/usr/bin/env python3
"""What the callbacks cost a training, in % of the time of its steps.

  bench/callbacks.py build                    # in BUILD/frameworks-venv of the tests
  PYTHONPATH=... bench/callbacks.py --here    # in this interpreter, with the frameworks it has

In one and the same training the callback is let in and left out, block by block, in changing order.
Of each pair of blocks the ratio of their times is taken; their mean and its standard error are
shown, and beside it the time that was spent inside the hooks themselves. On CUDA where there is one.
"""

import argparse
import importlib
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ASKED = "asked for: at most 0.5 %"
HOOKS = {"transformers": ("on_step_begin", "on_step_end", "on_epoch_end", "on_log", "_add_metrics",
                          "on_evaluate", "on_save", "on_prediction_step"),
         "lightning": ("on_train_batch_start", "on_train_batch_end", "on_train_epoch_end",
                       "on_validation_start", "on_validation_end", "on_save_checkpoint")}


class Blocks:
    """Lets a callback in and out, and keeps the times: of blocks, and inside its hooks."""

    def __init__(self, callback, hooks, steps, synchronize):
        self._callback, self._steps, self._synchronize = callback, steps, synchronize
        self._random = random.Random(1)
        self._order, self._made, self._begin = [], 0, None
        self._is_in, self._training = True, None
        self.pairs, self._pair = [], {}
        self.inside = self.seconds_in = 0.0
        for name in hooks:
            setattr(callback, name, self._timed(getattr(callback, name)))

    def _timed(self, hook):
        def call(*args, **options):
            begin = time.perf_counter()
            result = hook(*args, **options)
            self.inside += (time.perf_counter() - begin) * self._is_in
            return result

        return call

    def step(self):
        """A step begins."""
        if self._made % self._steps == 0:
            self._end_block()
            self._begin_block()
        self._made += 1

    def _end_block(self):
        self._synchronize()
        if self._begin is None:
            return
        seconds = time.perf_counter() - self._begin
        self.seconds_in += seconds * self._is_in
        self._pair[self._is_in] = seconds
        if len(self._pair) == 2:
            self.pairs.append((self._pair[True], self._pair[False]))
            self._pair = {}

    def _begin_block(self):
        if not self._order:
            first = self._random.random() < 0.5
            self._order = [first, not first]
        self._let(self._order.pop(0))
        self._begin = time.perf_counter()

    def _let(self, is_in):
        """Without a training of its own a callback's hooks return at once."""
        if self._is_in and not is_in:
            self._training, self._callback._training = self._callback._training, None
        elif is_in and not self._is_in:
            self._callback._training = self._training
        self._is_in = is_in

    def end(self):
        self._let(True)

    def line(self, name):
        ratios = [math.log(with_it / without) for with_it, without in self.pairs[1:]]
        mean = 100 * math.expm1(statistics.mean(ratios))
        error = 100 * statistics.stdev(ratios) / math.sqrt(len(ratios))
        step = 1000 * statistics.median(without for _, without in self.pairs) / self._steps
        return "%-32s %8.2f %10.2f +- %-8.2f %10.3f %8d" % (
            name, step, mean, error, 100 * self.inside / self.seconds_in, len(ratios))


def synchronizer(torch):
    return torch.cuda.synchronize if torch.cuda.is_available() else lambda: None


# ---- trainings ----


def words(torch, count, length):
    x = torch.randint(0, 512, (count, length), generator=torch.Generator().manual_seed(1))
    return [{"input_ids": row, "labels": row} for row in x]


def transformers_line(o, folder):
    import torch
    import transformers
    from tidemark.integrations.transformers import TidemarkCallback
    transformers.logging.set_verbosity_error()
    callback = TidemarkCallback(print_every=100, logger="quiet")
    blocks = Blocks(callback, HOOKS["transformers"], o.block, synchronizer(torch))

    class Steps(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            blocks.step()

        def on_train_end(self, *_, **__):
            blocks.end()

    config = transformers.GPT2Config(n_layer=4, n_embd=o.width, n_head=4, vocab_size=512,
                                     n_positions=64)
    arguments = transformers.TrainingArguments(
        folder, max_steps=2 * o.block * o.pairs, per_device_train_batch_size=8, logging_steps=20,
        save_strategy="no", report_to=[], disable_tqdm=True,
        **({} if torch.cuda.is_available() else {"use_cpu": True}))
    trainer = transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments,
                                   train_dataset=words(torch, 1024, 64),
                                   callbacks=[Steps(), callback])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return blocks.line(f"transformers {transformers.__version__}")


def lightning_line(o, folder):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]
                           / "tests" / "python" / "with_frameworks"))
    import tiny_lightning
    from tidemark.integrations.lightning import TidemarkCallback
    torch, lightning = tiny_lightning.torch, tiny_lightning.lightning
    callback = TidemarkCallback(print_every=100, logger="quiet")
    blocks = Blocks(callback, HOOKS["lightning"], o.block, synchronizer(torch))

    class Steps(lightning.Callback):
        def on_train_batch_start(self, *_):
            blocks.step()

        def on_train_end(self, *_):
            blocks.end()

    class Wide(tiny_lightning.Tiny):
        def __init__(self):
            super().__init__()
            wide = 4 * o.width
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(16, wide), torch.nn.ReLU(), torch.nn.Linear(wide, wide),
                torch.nn.ReLU(), torch.nn.Linear(wide, 1))

    trainer = tiny_lightning.trainer(
        folder, [Steps(), callback], max_steps=2 * o.block * o.pairs, log_every_n_steps=20,
        logger=tiny_lightning.loggers.CSVLogger(folder))
    trainer.fit(Wide(), tiny_lightning.loader(64 * 1024, 256))
    return blocks.line(f"{tiny_lightning.NAME} {lightning.__version__}")


def measure(o):
    import torch
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"blocks of {o.block} steps, with the callback and without; torch {torch.__version__} on "
          f"{device}, load average {os.getloadavg()[0]:.1f}\n")
    print("%-32s %8s %22s %10s %8s" % ("", "ms/step", "% more time", "% in hooks", "pairs"))
    for name, line in (("transformers", transformers_line), ("lightning", lightning_line)):
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name}: left out: {error}")
            continue
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            print(line(o, folder), flush=True)
    print(f"\n{ASKED}")


def main():
    parser = argparse.ArgumentParser(description="what the callbacks cost")
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--here", action="store_true", help="in this very interpreter")
    parser.add_argument("--block", type=int, default=25, help="steps of a block")
    parser.add_argument("--pairs", type=int, default=40, help="of blocks")
    parser.add_argument("--width", type=int, default=128, help="of the models")
    o = parser.parse_args()
    if o.pairs < 3 or o.block < 1:
        parser.error("--pairs wants 3 or more, --block 1 or more")
    if o.here:
        return measure(o)
    if o.build is None:
        parser.error("BUILD is missing")
    build = o.build.resolve()
    python = build / "frameworks-venv" / "bin" / "python"
    if not python.exists():
        sys.exit(f"{python} is not there: tests/python/frameworks.py {o.build} makes it")
    settings = ["--block", o.block, "--pairs", o.pairs, "--width", o.width]
    return subprocess.call([str(python), __file__, "--here", *map(str, settings)],
                           env={**os.environ, "PYTHONPATH": str(build / "python"),
                                "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
