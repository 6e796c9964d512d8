#!/usr/bin/env python3
"""What the callbacks cost a training, in % of the time of its steps.

  bench/callbacks.py build                    # in BUILD/frameworks-venv of the tests
  PYTHONPATH=... bench/callbacks.py --here    # in this interpreter, with the frameworks it has

For steps of each length (--ms) the same training of --seconds, several times; a first one is not
counted. The length is made by so many products of matrices in the model, the same number in all.

  in hooks      the share of the time, from the beginning of the first step to the end of the last,
                that was spent inside the callback's hooks: nothing is left out as warm-up
  around them   how much longer steps take outside the hooks because of them (caches that are cold,
                a device that has waited). For this they are let through in one half of the blocks
                of ten steps and not in the other, by chance, in trainings of their own: mean over
                pairs of neighbours, and its standard error

What the framework takes to call a callback that does nothing is in neither. On CUDA where there is
one.
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
HOOKS = {"transformers": ("on_step_begin", "on_step_end", "on_epoch_end", "on_log", "_add_metrics"),
         "lightning": ("on_train_batch_start", "on_train_batch_end", "on_train_epoch_end")}
BLOCK = 10  # steps
TRIAL_STEPS = 60  # of a training that shows how long its steps are
NEAR = 1.25  # times the length that was asked for: longer ones cannot be made so short here


class Clock:
    """The time of the steps of one training, and of the hooks within them.

    in_turns: hooks are let through in one of every two blocks of steps.
    """

    def __init__(self, torch, in_turns):
        self._wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
        self._in_turns, self._order = in_turns, random.Random(1)
        self._begin = None
        self._steps = 0
        self._blocks = []  # [with hooks, its beginning, in hooks]
        self.inside = self.seconds = 0.0

    def time_hooks(self, callback, names):
        for name in names:
            setattr(callback, name, self._timed(getattr(callback, name)))

    def _timed(self, hook):
        def call(*args, **options):
            block = self._blocks[-1]
            if not block[0]:
                return None
            begin = time.perf_counter()
            result = hook(*args, **options)
            seconds = time.perf_counter() - begin
            self.inside += seconds
            block[2] += seconds
            return result

        return call

    def step(self):
        """One begins."""
        if self._begin is None:
            self._wait()
            self._begin = time.perf_counter()
        if self._steps % BLOCK == 0:
            self._begin_block()
        self._steps += 1

    def _begin_block(self):
        if not self._in_turns:
            with_hooks = True
        elif len(self._blocks) % 2 == 0:
            with_hooks = self._order.random() < 0.5
        else:
            with_hooks = not self._blocks[-1][0]
        self._blocks.append([with_hooks, time.perf_counter(), 0.0])

    def end(self):
        self._wait()
        self.seconds = time.perf_counter() - self._begin

    def step_seconds(self):
        return self.seconds / self._steps

    def around(self):
        """Of each pair of blocks: by what share the one with hooks took longer beside them."""
        ends = [begin for _, begin, _ in self._blocks[1:]]
        blocks = [(with_hooks, end - begin - inside)
                  for (with_hooks, begin, inside), end in zip(self._blocks, ends)]
        for first, second in zip(blocks[::2], blocks[1::2]):
            with_them, without = (first[1], second[1]) if first[0] else (second[1], first[1])
            yield (with_them - without) / (BLOCK * self.step_seconds())


class Work:
    """Products of matrices, too large for the processor's first caches."""

    def __init__(self, torch, products):
        self._torch, self._products = torch, products
        on_cuda = torch.cuda.is_available()
        self._matrix = torch.rand(*2 * [1024 if on_cuda else 192],
                                  device="cuda" if on_cuda else "cpu")

    def do(self):
        for _ in range(self._products):
            self._torch.mm(self._matrix, self._matrix)


# ---- trainings: each gives its Clock ----


def train_with_transformers(steps, products, how, folder):
    import torch
    import transformers
    from tidemark.integrations.transformers import TidemarkCallback
    transformers.logging.set_verbosity_error()
    clock, work = Clock(torch, how == "in turns"), Work(torch, products)

    class Steps(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            clock.step()

        def on_train_end(self, *_, **__):
            clock.end()

    callbacks = [Steps()]
    if how != "without":
        callbacks.append(TidemarkCallback(logger="quiet"))
        clock.time_hooks(callbacks[1], HOOKS["transformers"])
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=1, n_embd=32, n_head=2, vocab_size=128, n_positions=16)
    words = torch.randint(0, 128, (1024, 16))
    arguments = transformers.TrainingArguments(
        folder, max_steps=steps, per_device_train_batch_size=4, logging_steps=20,
        save_strategy="no", report_to=[], disable_tqdm=True,
        **({} if torch.cuda.is_available() else {"use_cpu": True}))
    model = transformers.GPT2LMHeadModel(config)
    model.register_forward_pre_hook(lambda *_: work.do())
    trainer = transformers.Trainer(
        model, arguments, callbacks=callbacks,
        train_dataset=[{"input_ids": row, "labels": row} for row in words])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return clock


def train_with_lightning(steps, products, how, folder):
    sys.path.insert(0, str(ROOT / "tests" / "python" / "with_frameworks"))
    import tiny_lightning
    from tidemark.integrations.lightning import TidemarkCallback
    torch = tiny_lightning.torch
    clock, work = Clock(torch, how == "in turns"), Work(torch, products)

    class Steps(tiny_lightning.lightning.Callback):
        def on_train_batch_start(self, *_):
            clock.step()

        def on_train_end(self, *_):
            clock.end()

    class Working(tiny_lightning.Tiny):
        def training_step(self, batch, batch_idx):
            work.do()
            return super().training_step(batch, batch_idx)

    callbacks = [Steps()]
    if how != "without":
        callbacks.append(TidemarkCallback(logger="quiet"))
        clock.time_hooks(callbacks[1], HOOKS["lightning"])
    trainer = tiny_lightning.trainer(folder, callbacks, max_steps=steps, log_every_n_steps=20,
                                     logger=tiny_lightning.loggers.CSVLogger(folder))
    trainer.fit(Working(), tiny_lightning.loader(16 * 1024, 64))
    return clock


def trained(train, steps, products, how):
    """how: "with" the callback, "without" it, or its hooks "in turns"."""
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        return train(steps, products, how, folder)


# ---- the table ----


class Lengths:
    """How many products make a step so long."""

    def __init__(self, train):
        trained(train, TRIAL_STEPS, 0, "without")
        self._least = self._seconds(train, 0)
        # Enough of them that the step is twice as long.
        products = 20
        while self._seconds(train, products) < 2 * self._least:
            products *= 2
        self._product = (self._seconds(train, products) - self._least) / products

    def _seconds(self, train, products):
        return min(trained(train, TRIAL_STEPS, products, "without").step_seconds() for _ in range(3))

    def products(self, seconds):
        """None: the framework alone takes longer."""
        if self._least > NEAR * seconds:
            return None
        return max(0, round((seconds - self._least) / self._product))


def line(name, train, steps, products, trainings):
    always, in_turns = ([trained(train, steps, products, how) for _ in range(trainings)]
                        for how in ("with", "in turns"))
    step = 1000 * statistics.median(clock.step_seconds() for clock in always)
    inside = 100 * sum(c.inside for c in always) / sum(c.seconds for c in always)
    shares = [100 * share for clock in in_turns for share in clock.around()]
    around, error = statistics.mean(shares), statistics.stdev(shares) / math.sqrt(len(shares))
    return "%-20s %8.1f %7d %11.3f %10.2f +- %-6.2f %8.2f" % (
        name, step, steps, inside, around, error, inside + around)


def table(o):
    import torch
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"twice {o.trainings} trainings of {o.seconds:g} s; torch {torch.__version__} "
          f"on {device}, load average {os.getloadavg()[0]:.1f}\n")
    print("%-20s %8s %7s %11s %20s %8s" % ("", "ms/step", "steps", "% in hooks", "% around them",
                                           "% in all"))
    for name, train in (("transformers", train_with_transformers),
                        ("lightning", train_with_lightning)):
        try:
            version = importlib.import_module(name).__version__
        except ImportError as error:
            print(f"{name}: left out: {error}")
            continue
        lengths = Lengths(train)
        for ms in map(float, o.ms.split(",")):
            products, steps = lengths.products(ms / 1000), max(2, round(1000 * o.seconds / ms))
            if products is None:
                print(f"{name} {version}: no steps of {ms:g} ms here")
                continue
            print(line(f"{name} {version}", train, steps, products, o.trainings), flush=True)
    print(f"\n{ASKED}")


def main():
    parser = argparse.ArgumentParser(description="what the callbacks cost")
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--here", action="store_true", help="in this very interpreter")
    parser.add_argument("--ms", default="4,15,25,150", help="lengths of a step")
    parser.add_argument("--seconds", type=float, default=20, help="of a training")
    parser.add_argument("--trainings", type=int, default=3, help="of each kind")
    o = parser.parse_args()
    if o.here:
        return table(o)
    if o.build is None:
        parser.error("BUILD is missing")
    build = o.build.resolve()
    python = build / "frameworks-venv" / "bin" / "python"
    if not python.exists():
        sys.exit(f"{python} is not there: tests/python/frameworks.py {o.build} makes it")
    settings = ["--ms", o.ms, "--seconds", o.seconds, "--trainings", o.trainings]
    return subprocess.call([str(python), __file__, "--here", *map(str, settings)],
                           env={**os.environ, "PYTHONPATH": str(build / "python"),
                                "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})


if __name__ == "__main__":
    sys.exit(main())
