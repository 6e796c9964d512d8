"""TidemarkCallback and CleanupCallback for Hugging Face's Trainer.

    from tidemark.integrations.transformers import TidemarkCallback

    trainer = Trainer(model, args, ..., callbacks=[TidemarkCallback()])
"""

import copy
import sys
import weakref

try:
    import transformers
    from transformers.trainer_callback import CallbackHandler, DefaultFlowCallback
except ImportError as error:
    raise ImportError("tidemark.integrations.transformers needs transformers, which cannot be "
                      f"imported here ({error}): pip install transformers") from error

from tidemark._cleanup import Cleanup
from tidemark._shield import WarnsOnce, shielded
from tidemark.integrations import _shared

FRAMES = 8  # from a hook up to the Trainer


class _Metrics(transformers.TrainerCallback):
    """Adds to a log before the callbacks that report it (to TensorBoard and so on) see it."""

    def __init__(self, owner=None):
        self._owner = weakref.ref(owner) if owner is not None else _nothing

    def __reduce__(self):
        """A copy, perhaps in another process, belongs to no callback."""
        return type(self), ()

    def on_log(self, args, state, control, logs=None, **kwargs):
        owner = self._owner()
        if owner is not None:
            owner._add_metrics(state, logs)


class TidemarkCallback(_shared.Callback, transformers.TrainerCallback):
    """Watches the memory of a Trainer's training: lines, metrics in its logs, a verdict at the end.

    print_every: steps between lines, 0: print nothing; metrics: add `memory/...` to the Trainer's
    logs. run_file, horizon, warn_on_leak, logger, on_leak: as for tidemark.Watcher. `watcher` is
    the Watcher, available once training has begun.

    >>> callback = TidemarkCallback(print_every=50, run_file=True)
    >>> Trainer(model, args, train_dataset=data, callbacks=[callback]).train()
    >>> callback.watcher.verdict().answer
    'no_leak'
    """

    def __init__(self, print_every=100, *, metrics=True, run_file=None, horizon=None,
                 warn_on_leak=True, logger=None, on_leak=None):
        self._set_options(print_every, metrics, run_file, horizon, warn_on_leak, logger, on_leak)
        self._evaluations = 0  # evaluations still to come before a checkpoint is written
        self._trainer = _nothing

    def __getstate__(self):
        return {**super().__getstate__(), "_trainer": _nothing}

    # ---- the beginning and the end ----

    @shielded
    def on_train_begin(self, args, state, control, model=None, train_dataloader=None, **kwargs):
        self._finish()  # training restarts when a batch did not fit into memory
        handler, trainer = _find_owners(self)
        if self._metrics and handler is not None:
            _put_in_front(handler, _Metrics(self))
        self._trainer = weakref.ref(trainer) if trainer is not None else _nothing
        self._begin(start_step=state.global_step, plan_steps=state.max_steps,
                    epoch_steps=_epoch_steps(args, state, train_dataloader), device=args.device)

    @shielded
    def on_train_end(self, args, state, control, **kwargs):
        self._finish()

    # ---- steps ----

    def on_step_begin(self, args, state, control, **kwargs):
        training = self._training
        if training is not None and training.current_phase is not None:
            self._end_phase()

    def on_step_end(self, args, state, control, **kwargs):
        try:
            training = self._training
            if training is None or state.global_step <= training.steps:
                return
            training.step()
            if control.should_evaluate or control.should_save:
                self._begin_phase(control)
        except Exception as error:
            self._failed("on_step_end", error)

    @shielded
    def on_epoch_end(self, args, state, control, **kwargs):
        if self._training is not None:
            self._training.epoch_end()
            self._begin_phase(control)

    # ---- evaluation and checkpoints: announced after a step and after an epoch ----

    def _begin_phase(self, control):
        if control.should_evaluate:
            datasets = getattr(self._trainer(), "eval_dataset", None)
            self._evaluations = len(datasets) if isinstance(datasets, dict) else 1
            self._training.phase("evaluate")
        elif control.should_save:
            self._training.phase("save")

    @shielded
    def on_prediction_step(self, args, state, control, **kwargs):
        """An unannounced evaluation: other code called evaluate() or predict()."""
        if self._training is not None and self._training.current_phase is None:
            self._training.phase("predict" if _is_inside("predict") else "evaluate")

    @shielded
    def on_evaluate(self, args, state, control, **kwargs):
        if self._training is not None:
            self._evaluations -= 1
            self._training.phase("save" if control.should_save and self._evaluations == 0 else None)

    @shielded
    def on_predict(self, args, state, control, **kwargs):
        if self._training is not None:
            self._training.phase(None)

    @shielded
    def on_save(self, args, state, control, **kwargs):
        """Records an unannounced checkpoint ("best" is decided after an evaluation)."""
        if self._training is not None:
            self._training.phase("save")
            self._training.phase(None)

    # ---- logs ----

    @shielded
    def on_log(self, args, state, control, logs=None, **kwargs):
        if self._training is not None and logs and "loss" in logs:
            self._training.logged_loss(float(logs["loss"]))

    @shielded
    def _add_metrics(self, state, logs):
        """Adds to a log of training steps before it is reported, and to the Trainer's history."""
        if self._training is None or not logs or "loss" not in logs:
            return
        metrics = self._training.metrics()
        logs.update(metrics)
        last = state.log_history[-1] if state.log_history else {}
        if last.get("step") == state.global_step and "loss" in last:
            last.update(metrics)


def _nothing():
    return None


def _find_owners(callback):
    """The calling handler, with the callback in its list, and the Trainer; None: not found.

    Hooks get neither as an argument.
    """
    handler = trainer = None
    frame = sys._getframe(1)
    for _ in range(FRAMES):
        caller = frame.f_locals.get("self") if frame is not None else None
        if isinstance(caller, CallbackHandler):
            handler = caller
        elif isinstance(caller, transformers.Trainer):
            trainer = caller
            break
        frame = frame.f_back if frame is not None else None
    return handler, trainer


def _put_in_front(handler, metrics):
    """Inserts after the callback that controls the flow, before those that report. Makes a new list,
    because the old one is being iterated."""
    others = [c for c in handler.callbacks if not isinstance(c, _Metrics)]
    at = sum(isinstance(c, DefaultFlowCallback) for c in others[:1])
    handler.callbacks = [*others[:at], metrics, *others[at:]]


def _is_inside(name):
    """Whether the Trainer's method of this name is being called."""
    frame = sys._getframe(1)
    while frame is not None:
        if (frame.f_code.co_name == name
                and frame.f_globals.get("__name__") == transformers.Trainer.__module__):
            return True
        frame = frame.f_back
    return False


def _epoch_steps(args, state, loader):
    """Steps per epoch; None: unknown, as for a stream of data."""
    if args.max_steps <= 0 and args.num_train_epochs > 0:
        return state.max_steps / args.num_train_epochs
    try:
        return -(-len(loader) // args.gradient_accumulation_steps) or None
    except TypeError:
        return None


class CleanupCallback(WarnsOnce, transformers.TrainerCallback):
    """tidemark.Cleanup for a Trainer, with the same arguments: prints its summary at the end.

    >>> Trainer(model, args, train_dataset=data, callbacks=[CleanupCallback(every=20)]).train()
    """

    def __init__(self, every=10, on_evaluate=True, gc=True, empty_cache=True, trim=True,
                 zero_grad="safe"):
        self.cleanup = Cleanup(every, on_evaluate, gc, empty_cache, trim, zero_grad)

    @shielded
    def on_train_begin(self, args, state, control, **kwargs):
        if self.cleanup.closed:
            self.cleanup = copy.copy(self.cleanup)

    @shielded
    def on_step_end(self, args, state, control, **kwargs):
        self.cleanup.step()

    @shielded
    def on_evaluate(self, args, state, control, **kwargs):
        self.cleanup.evaluated()

    @shielded
    def on_train_end(self, args, state, control, **kwargs):
        self.cleanup.close()
        if state.is_world_process_zero:
            _shared.print_beside_bars(self.cleanup.summary())
