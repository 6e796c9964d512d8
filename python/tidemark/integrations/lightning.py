"""TidemarkCallback and CleanupCallback for Lightning.

    from tidemark.integrations.lightning import TidemarkCallback

    trainer = Trainer(..., callbacks=[TidemarkCallback()])

They work with trainers of both `lightning.pytorch` and `pytorch_lightning`.
"""

import copy
import importlib
import sys

from tidemark._cleanup import Cleanup
from tidemark._shield import WarnsOnce, shielded
from tidemark.integrations import _shared

PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _callback_classes():
    """From a package that the program has imported, else from the first one installed."""
    imported = [name for name in PACKAGES if name in sys.modules]
    problems = []
    for name in imported or PACKAGES:
        try:
            classes = [importlib.import_module(n).Callback for n in (imported or [name])]
            return tuple(dict.fromkeys(classes))
        except ImportError as error:
            problems.append(str(error))
    raise ImportError("tidemark.integrations.lightning needs lightning or pytorch_lightning, but "
                      f"neither can be imported here ({'; '.join(problems)}): "
                      "pip install lightning")


_classes = _callback_classes()


class TidemarkCallback(_shared.Callback, *_classes):
    """Watches the memory of trainer.fit(): lines, metrics for its loggers, a verdict at the end.

    print_every: steps between lines, 0: print nothing; metrics: send `memory/...` to the trainer's
    loggers, every log_every_n_steps. run_file, horizon, warn_on_leak, logger, on_leak: as for
    tidemark.Watcher. `watcher` is the Watcher, available once training has begun.

    A step is an optimizer step, as in Lightning's logs.

    >>> callback = TidemarkCallback(print_every=50, run_file=True)
    >>> Trainer(max_epochs=3, callbacks=[callback]).fit(model, loader)
    >>> callback.watcher.verdict().answer
    'no_leak'
    """

    def __init__(self, print_every=100, *, metrics=True, run_file=None, horizon=None,
                 warn_on_leak=True, logger=None, on_leak=None):
        self._set_options(print_every, metrics, run_file, horizon, warn_on_leak, logger, on_leak)
        self._global_step = 0  # Lightning's count at our last step; it advances by two with two optimizers
        self._counter = None

    # ---- the beginning and the end ----

    @shielded
    def on_train_start(self, trainer, pl_module):
        self._counter, self._global_step = _counter_of(trainer, pl_module), trainer.global_step
        start_step = _batches_that_stepped(trainer)
        epoch_steps = _epoch_steps(trainer)
        self._begin(start_step=start_step, plan_steps=_plan_steps(trainer, epoch_steps),
                    epoch_steps=epoch_steps, device=trainer.strategy.root_device)

    @shielded
    def on_train_end(self, trainer, pl_module):
        self._finish()

    @shielded
    def on_exception(self, trainer, pl_module, exception):
        self._finish()

    # ---- steps ----

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        training = self._training
        if training is not None and training.current_phase is not None:
            self._end_phase()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        try:
            training, counter = self._training, self._counter
            global_step = trainer.global_step if counter is None else counter.completed
            if training is None or global_step == self._global_step:
                return
            self._global_step = global_step
            # The result of training_step(): a tensor or None, perhaps in a dict.
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            step, every = training.step(loss), trainer.log_every_n_steps
            if self._metrics and every and step % every == 0:
                self._log(trainer)
        except Exception as error:
            self._failed("on_train_batch_end", error)

    @shielded
    def on_train_epoch_end(self, trainer, pl_module):
        if self._training is not None:
            self._training.epoch_end()

    def _log(self, trainer):
        metrics = self._training.metrics() if trainer.loggers else None
        for logger in trainer.loggers if metrics else ():
            logger.log_metrics(metrics, step=_batches_that_stepped(trainer))

    # ---- validation and checkpoints ----

    @shielded
    def on_validation_start(self, trainer, pl_module):
        if self._training is not None:
            self._training.phase("validation")

    @shielded
    def on_validation_end(self, trainer, pl_module):
        if self._training is not None:
            self._training.phase(None)

    @shielded
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        """The checkpoint is written after this; the next hook ends it."""
        if self._training is not None:
            self._training.phase("checkpoint")


def _counter_of(trainer, pl_module):
    """trainer.global_step without its ten properties; None: not available."""
    try:
        optimizers = trainer.fit_loop.epoch_loop.automatic_optimization.optim_progress.optimizer
        counter = optimizers.step.total
        is_it = pl_module.automatic_optimization and counter.completed == trainer.global_step
    except AttributeError:
        return None
    return counter if is_it else None


def _batches_that_stepped(trainer):
    """The count in Lightning's own logs."""
    loop = getattr(trainer.fit_loop, "epoch_loop", None)
    return getattr(loop, "_batches_that_stepped", trainer.global_step)


def _epoch_steps(trainer):
    """Steps per epoch; None: unknown, as for a stream of data."""
    batches = trainer.num_training_batches
    if not 0 < batches < float("inf"):
        return None
    return -(-int(batches) // trainer.accumulate_grad_batches)


def _plan_steps(trainer, epoch_steps):
    if trainer.max_steps > 0:
        return trainer.max_steps
    if epoch_steps and (trainer.max_epochs or 0) > 0:
        return epoch_steps * trainer.max_epochs
    return None


class CleanupCallback(WarnsOnce, *_classes):
    """tidemark.Cleanup for a Lightning trainer, with the same arguments: prints its summary at the
    end.

    >>> Trainer(max_epochs=3, callbacks=[CleanupCallback(every=20)]).fit(model, loader)
    """

    def __init__(self, every=10, on_evaluate=True, gc=True, empty_cache=True, trim=True,
                 zero_grad="safe"):
        self.cleanup = Cleanup(every, on_evaluate, gc, empty_cache, trim, zero_grad)
        self._global_step = 0
        self._has_stepped = False

    @shielded
    def on_train_start(self, trainer, pl_module):
        self._global_step = trainer.global_step
        if self.cleanup.closed:
            self.cleanup = copy.copy(self.cleanup)

    @shielded
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._has_stepped = trainer.global_step != self._global_step
        self._global_step = trainer.global_step

    @shielded
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        """Not at the end of the previous batch: later hooks may read its gradients."""
        self._step()

    def _step(self):
        if self._has_stepped:
            self._has_stepped = False
            self.cleanup.step()

    @shielded
    def on_validation_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            self.cleanup.evaluated()

    @shielded
    def on_train_end(self, trainer, pl_module):
        self._step()
        self.cleanup.close()
        if trainer.is_global_zero:
            _shared.print_beside_bars(self.cleanup.summary())
