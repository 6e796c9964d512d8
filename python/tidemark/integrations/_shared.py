"""Shared by the callbacks of all frameworks: watches a training from its hooks."""

import math
import sys
import time

from tidemark import _arguments, _core, _lines, _objects, _torch
from tidemark._cleanup import came_by_signal
from tidemark._shield import WarnsOnce, shielded
from tidemark._watcher import Verdict, Watcher, matters, print_text

METRICS_SHARE_OF_TIME = 0.0001  # for metrics and for judging, each: sooner calls are skipped
CENSUS_SHARE_OF_TIME = 0.0002
JUDGEMENT_SECONDS = 0.001  # assumed until one has been measured
STEPS_BETWEEN_CHORES = 10
STEPS_BETWEEN_LOSSES = 50  # steps between reads: each is a copy from the device
WARM_UP_SHARE = 0.1  # of the plan, at most one epoch
WARM_UP_STEPS = 10  # at least

MB = _lines.MB


class _NotKnown:
    """Stands for a loss that the framework does not report at this step."""

    def item(self):
        return None


_not_known = _NotKnown()


def print_beside_bars(text):
    """Prints above tqdm's progress bars, if there are any."""
    bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
    try:
        if getattr(bars, "_instances", None):
            return bars.write(text)
    except Exception as error:  # the output is closed, or lacks these characters
        if came_by_signal(error):
            raise
    print_text(text)


class _TrainingWatcher(Watcher):
    """A Watcher driven by a framework's hooks, which prints above progress bars."""

    def __init__(self, **options):
        self._first_step, self._began = options["start_step"], time.perf_counter()
        self._verdicts = _Rarely(JUDGEMENT_SECONDS)
        self._leak = None  # the last announced leak, until it is taken
        super().__init__(**options)
        self._read_rarely()

    def _last_sent(self):
        """Does not wait: the framework keeps the device busy across the end of an epoch."""
        return self._sent.arrived()

    def _on_leaks(self, leaks):
        told = [v for v in (Verdict(*leak) for leak in leaks) if matters(v)]
        self._leak = told[-1] if told else self._leak
        super()._on_leaks(leaks)

    def take_leak(self):
        """The last leak announced since the last call; None."""
        leak, self._leak = self._leak, None
        return leak

    # ---- output ----

    def _print(self, text):
        print_beside_bars(text)

    def _say_verdict(self, form, *more):
        """The verdict below an epoch's summary, unless epochs are so short that it would cost time."""
        self._verdicts.within_share(lambda: super(_TrainingWatcher, self)._say_verdict(form, *more))

    def _say_epoch(self, loss, vram_delta, ram_delta):
        """An empty summary is printed with a verdict or not at all."""
        if loss is not None or vram_delta is not None:
            super()._say_epoch(loss, vram_delta, ram_delta)
            return
        box = self._epoch_summary(loss, vram_delta)
        self._say_verdict(lambda *below: box + "\n" + _lines.below_summary(*below), ram_delta)

    def _shown_loss(self, loss):
        if loss is _not_known and math.isnan(self._last_loss):
            return None
        return super()._shown_loss(loss)

    # ---- the end ----

    @shielded
    def end(self, before):
        """Ends the training's report. before: the census to compare with."""
        if self.closed:
            return
        if self._end() and self._prints():
            self._say("\n".join(self._summary(before)))

    def _summary(self, before):
        verdict = self.verdict()
        steps, seconds = self.step_count - self._first_step, time.perf_counter() - self._began
        yield f"tidemark: {steps:,} steps in {seconds:,.0f} s"
        yield _lines.verdict_line(verdict) + self._why(verdict)
        yield from self._growth(before)
        if before.census:
            yield from _objects.change_lines(before.census, before.census_step, _core.census(True))

    def _growth(self, before):
        now = Sizes.now(self)
        for name, then, at_end in zip(Sizes.NAMES, before.sizes.values, now.values):
            if then is not None and at_end is not None:
                yield (f"   {name}: {at_end / MB:,.1f} MB, {(at_end - then) / MB:+,.1f} MB since "
                       f"step {before.sizes_step:,}")


class Sizes:
    """Memory at one moment, in bytes; None: unknown."""

    NAMES = ("Host memory", "torch allocated", "torch reserved")
    METRICS = ("memory/host_mb", "memory/torch_allocated_mb", "memory/torch_reserved_mb")

    def __init__(self, values):
        self.values = values

    @classmethod
    def now(cls, watcher):
        look = watcher._look_now()
        if look.cpu_used is not None:  # since the last sample, which was ours
            watcher._cpu_used = look.cpu_used
        return cls((look.host_bytes, *_torch.vram_bytes(watcher.device)))

    def metrics(self):
        return {name: value / MB for name, value in zip(self.METRICS, self.values)
                if value is not None}


class _Before:
    """The state after the warm-up, as the baseline for the end.

    The warm-up is a tenth of the plan, at most one epoch. A census takes tens of milliseconds: one is
    taken before the first step, and one after the warm-up as soon as its cost is small enough.
    """

    def __init__(self, watcher, warm_step):
        self._watcher, self._warm_step = watcher, warm_step
        self._began = time.perf_counter()
        self._look()
        self._count()
        self._is_warm = self.is_complete = False

    def step(self):
        if self._watcher.step_count < self._warm_step:
            return
        if not self._is_warm:
            self._look()
            self._is_warm = True
        if self._cost <= CENSUS_SHARE_OF_TIME * (time.perf_counter() - self._began):
            self._count()
            self.is_complete = True

    def _look(self):
        self.sizes, self.sizes_step = Sizes.now(self._watcher), self._watcher.step_count

    def _count(self):
        begin = time.perf_counter()
        try:
            self.census, self.census_step = _core.census(True), self._watcher.step_count
        except NotImplementedError:
            self.census = None
        self._cost = time.perf_counter() - begin


class _Rarely:
    """Limits the share of time that a call takes, by skipping calls that come too soon.

    seconds: how long a call takes, as far as that is known before the first one.
    """

    def __init__(self, seconds=0.0):
        self._end, self._cost = time.perf_counter(), seconds

    def within_share(self, do):
        """The call's result; None: skipped."""
        begin = time.perf_counter()
        if self._cost > METRICS_SHARE_OF_TIME * (begin - self._end):
            return None
        result = do()
        self._end = time.perf_counter()
        self._cost = self._end - begin
        return result


class Training:
    """One training, from its first step to its last.

    options: arguments of Watcher(). A failing watcher raises nothing here, because the callbacks'
    hooks are shielded.
    """

    def __init__(self, start_step, plan_steps, epoch_steps, device, options):
        # Without the plan: a leak counts even if this training ends before it matters.
        self.watcher = _TrainingWatcher(
            start_step=start_step, sync_interval=STEPS_BETWEEN_LOSSES,
            **({"device": device} if getattr(device, "type", None) == "cuda" else {}),
            **({"epoch_steps": epoch_steps} if epoch_steps else {}), **options)
        self._watcher_step = self.watcher.step
        self.current_phase = None  # the activity beside the steps
        self._before = _Before(
            self.watcher, start_step + _warm_up_steps(start_step, plan_steps, epoch_steps))
        self._looks, self._judgements = _Rarely(), _Rarely(JUDGEMENT_SECONDS)
        self._judged = {}
        self.steps = start_step  # steps so far
        self._next_chores = start_step + STEPS_BETWEEN_CHORES

    # ---- steps and phases ----

    def step(self, loss=None):
        """Sets the number of steps so far."""
        if self.current_phase is not None:
            self.phase(None)
        self._watcher_step(_not_known if loss is None else loss)
        self.steps = step = self.steps + 1
        if step >= self._next_chores:
            self._do_chores(step)
        return step

    def _do_chores(self, step):
        """The work that is not done at every step, and only within its share of the time."""
        self._next_chores = step + STEPS_BETWEEN_CHORES
        if not self._before.is_complete:
            self._before.step()

    def epoch_end(self):
        self.phase(None)
        self.watcher.epoch_end()

    def logged_loss(self, value):
        """A loss of several steps together, if the framework does not report each one's."""
        self.watcher._add_loss(value)
        if not math.isfinite(value):
            self.watcher._check_spell(was_sent_for=False)

    def phase(self, name):
        """Sets the current activity beside the steps; None: none."""
        if name == self.current_phase:
            return
        if self.current_phase is not None:
            self.watcher.phase_end(self.current_phase)
        if name is not None:
            self.watcher.phase_begin(name)
        self.current_phase = name

    # ---- metrics and leaks ----

    def metrics(self):
        """Values by name, for the framework's logger; {} if another sample would cost too much."""
        sizes = self._looks.within_share(lambda: Sizes.now(self.watcher).metrics())
        if sizes is None:
            return {}
        self._note_leak(self.watcher.take_leak())
        judged = self._judgements.within_share(self._judge)
        self._judged = self._judged if judged is None else judged
        return {**sizes, **self._judged}

    def _note_leak(self, leak):
        """Whether a leak was announced, known without judging again."""
        if leak is None:
            return
        self._judged = {**self._judged, "memory/leak": 1.0}
        if leak.kind == "host.anon" and leak.rate is not None:
            self._judged["memory/growth_mb_per_step"] = leak.rate / MB

    def _judge(self):
        judged = {}
        host = self.watcher.verdict("host.anon")
        if host.rate is not None:
            judged["memory/growth_mb_per_step"] = host.rate / MB
        verdict = self.watcher.verdict()
        if verdict.answer != "inconclusive":
            judged["memory/leak"] = float(matters(verdict))
        return judged

    def end(self):
        self.phase(None)
        self.watcher.end(self._before)


def _warm_up_steps(start_step, plan_steps, epoch_steps):
    planned = WARM_UP_SHARE * (plan_steps - start_step) if plan_steps else 0
    return max(WARM_UP_STEPS, min(planned, epoch_steps or planned))


# ---- a callback ----


class Callback(WarnsOnce):
    """The part of TidemarkCallback that all frameworks share."""

    def _set_options(self, print_every, metrics, run_file, horizon, warn_on_leak, logger, on_leak):
        try:
            self._options = {
                "print_every": _arguments.whole("print_every", print_every, 0),
                "run_file": _arguments.run_file(run_file),
                "horizon": _arguments.steps("horizon", horizon) or None,
                "warn_on_leak": bool(warn_on_leak), "logger": _arguments.logger(logger),
                "on_leak": _arguments.on_leak(on_leak)}
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("Watcher()", "TidemarkCallback()", 1)) from None
        self._metrics = bool(metrics)
        self._training = None  # the current training

    @property
    def watcher(self):
        """The tidemark.Watcher of the current or last training; None before the first."""
        return self._watcher

    _watcher = None

    def __getstate__(self):
        """A copy, perhaps in another process, has the settings and watches nothing yet."""
        return {**self.__dict__, "_training": None, "_watcher": None}

    def _begin(self, **known):
        self._training = None
        self._training = Training(options=self._options, **known)
        self._watcher = self._training.watcher

    @shielded
    def _end_phase(self):
        self._training.phase(None)

    def _finish(self):
        training, self._training = self._training, None
        if training is not None:
            training.end()
