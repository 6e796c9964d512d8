#!/usr/bin/env python3
"""What the callbacks cost a training, in % of the time of its steps.

  bench/callbacks.py build                    # in BUILD/frameworks-venv of the tests
  PYTHONPATH=... bench/callbacks.py --here    # in this interpreter, with the frameworks it has

The same short training again and again, with the callback and without it, in changing order. Of
each pair the ratio of their times is taken, from the tenth step on and after --warm-seconds (the
first seconds are looked at more densely); shown are their mean and its standard error, and beside
it the share of the time that was spent inside the hooks themselves. (To
let the callback in and out within one training would be unfair to it: it keeps to a share of the
time, and would spend in one half what it has saved in the other.) On CUDA where there is one.
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

ROOT = pathlib.Path(__file__).resolve().parents[1]
ASKED = "asked for: at most 0.5 %"
WARM_UP = 10  # steps that are not counted
HOOKS = {"transformers": ("on_step_begin", "on_step_end", "on_epoch_end", "on_log", "_add_metrics"),
         "lightning": ("on_train_batch_start", "on_train_batch_end", "on_train_epoch_end")}


class Clock:
    """The time of the steps of one training, and of the hooks within them."""

    def __init__(self, torch, warm_seconds):
        self._warm_seconds, self._first = warm_seconds, None
        self._wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
        self._steps = 0
        self._begin = None
        self.inside = self.seconds = 0.0

    def time_hooks(self, callback, names):
        for name in names:
            setattr(callback, name, self._timed(getattr(callback, name)))

    def _timed(self, hook):
        def call(*args, **options):
            begin = time.perf_counter()
            result = hook(*args, **options)
            self.inside += time.perf_counter() - begin
            return result

        return call

    def step(self):
        """One begins."""
        self._steps += 1
        now = time.perf_counter()
        self._first = self._first or now
        if (self._begin is None and self._steps >= WARM_UP
                and now - self._first >= self._warm_seconds):
            self._wait()
            self._begin, self.inside = time.perf_counter(), 0.0
            self._skipped = self._steps

    def end(self):
        self._wait()
        self.seconds = time.perf_counter() - self._begin
        self.steps = self._steps - self._skipped + 1

    def step_seconds(self):
        return self.seconds / self.steps


# ---- trainings: each gives its Clock ----


def train_with_transformers(o, with_callback, folder):
    import torch
    import transformers
    from tidemark.integrations.transformers import TidemarkCallback
    transformers.logging.set_verbosity_error()
    clock = Clock(torch, o.warm_seconds)

    class Steps(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            clock.step()

        def on_train_end(self, *_, **__):
            clock.end()

    callbacks = [Steps()]
    if with_callback:
        callbacks.append(TidemarkCallback(logger="quiet"))
        clock.time_hooks(callbacks[1], HOOKS["transformers"])
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=4, n_embd=o.width, n_head=4, vocab_size=512,
                                     n_positions=64)
    words = torch.randint(0, 512, (1024, 64))
    arguments = transformers.TrainingArguments(
        folder, max_steps=o.steps, per_device_train_batch_size=8, logging_steps=20,
        save_strategy="no", report_to=[], disable_tqdm=True,
        **({} if torch.cuda.is_available() else {"use_cpu": True}))
    trainer = transformers.Trainer(
        transformers.GPT2LMHeadModel(config), arguments, callbacks=callbacks,
        train_dataset=[{"input_ids": row, "labels": row} for row in words])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return clock


def train_with_lightning(o, with_callback, folder):
    sys.path.insert(0, str(ROOT / "tests" / "python" / "with_frameworks"))
    import tiny_lightning
    from tidemark.integrations.lightning import TidemarkCallback
    torch = tiny_lightning.torch
    clock = Clock(torch, o.warm_seconds)

    class Steps(tiny_lightning.lightning.Callback):
        def on_train_batch_start(self, *_):
            clock.step()

        def on_train_end(self, *_):
            clock.end()

    class Wide(tiny_lightning.Tiny):
        def __init__(self):
            super().__init__()
            wide = 8 * o.width
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(16, wide), torch.nn.ReLU(), torch.nn.Linear(wide, wide),
                torch.nn.ReLU(), torch.nn.Linear(wide, 1))

    callbacks = [Steps()]
    if with_callback:
        callbacks.append(TidemarkCallback(logger="quiet"))
        clock.time_hooks(callbacks[1], HOOKS["lightning"])
    trainer = tiny_lightning.trainer(folder, callbacks, max_steps=o.steps, log_every_n_steps=20,
                                     logger=tiny_lightning.loggers.CSVLogger(folder))
    trainer.fit(Wide(), tiny_lightning.loader(16 * 1024, 64))
    return clock


# ---- the table ----


def measure(train, o):
    """Pairs of Clocks, with and without."""
    order = random.Random(1)
    pairs = []
    for _ in range(o.pairs):
        clocks = {}
        for with_callback in order.sample([True, False], 2):
            with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
                clocks[with_callback] = train(o, with_callback, folder)
        pairs.append((clocks[True], clocks[False]))
    return pairs


def line(name, pairs, o):
    ratios = [math.log(with_it.step_seconds() / without.step_seconds())
              for with_it, without in pairs]
    mean = 100 * math.expm1(statistics.mean(ratios))
    error = 100 * statistics.stdev(ratios) / math.sqrt(len(ratios))
    step = 1000 * statistics.median(without.step_seconds() for _, without in pairs)
    inside = sum(c.inside for c, _ in pairs) / sum(c.seconds for c, _ in pairs)
    return "%-26s %9.2f %10.2f +- %-6.2f %11.3f %7d" % (name, step, mean, error, 100 * inside,
                                                        len(pairs))


def table(o):
    import torch
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"trainings of {o.steps} steps, with the callback and without; torch {torch.__version__} "
          f"on {device}, load average {os.getloadavg()[0]:.1f}\n")
    print("%-26s %9s %20s %11s %7s" % ("", "ms/step", "% more time", "% in hooks", "pairs"))
    for name, train in (("transformers", train_with_transformers),
                        ("lightning", train_with_lightning)):
        try:
            version = importlib.import_module(name).__version__
        except ImportError as error:
            print(f"{name}: left out: {error}")
            continue
        print(line(f"{name} {version}", measure(train, o), o), flush=True)
    print(f"\n{ASKED}")


def main():
    parser = argparse.ArgumentParser(description="what the callbacks cost")
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--here", action="store_true", help="in this very interpreter")
    parser.add_argument("--steps", type=int, default=100, help="of a training")
    parser.add_argument("--pairs", type=int, default=10, help="of trainings")
    parser.add_argument("--warm-seconds", type=float, default=0, help="not counted")
    parser.add_argument("--width", type=int, default=128, help="of the models")
    o = parser.parse_args()
    if o.pairs < 2 or o.steps <= WARM_UP:
        parser.error(f"--pairs wants 2 or more, --steps more than {WARM_UP}")
    if o.here:
        return table(o)
    if o.build is None:
        parser.error("BUILD is missing")
    build = o.build.resolve()
    python = build / "frameworks-venv" / "bin" / "python"
    if not python.exists():
        sys.exit(f"{python} is not there: tests/python/frameworks.py {o.build} makes it")
    settings = ["--steps", o.steps, "--pairs", o.pairs, "--width", o.width,
                "--warm-seconds", o.warm_seconds]
    return subprocess.call([str(python), __file__, "--here", *map(str, settings)],
                           env={**os.environ, "PYTHONPATH": str(build / "python"),
                                "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
