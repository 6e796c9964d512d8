"""What the callbacks of all frameworks share: a training that is watched from its hooks."""

import math
import sys
import time

from tidemark import _arguments, _census, _lines, _torch
from tidemark._advice import advice
from tidemark._holders import Holders
from tidemark._shield import WarnsOnce, shielded
from tidemark._watcher import Watcher, print_text

METRICS_SHARE_OF_TIME = 0.0005  # for looking, and for judging: what comes sooner is left out
CENSUS_SHARE_OF_TIME = 0.001
WARM_UP_SHARE = 0.1  # of the plan, at most an epoch
WARM_UP_STEPS = 10  # at least
MOST_HOLDERS = 2  # that are named
OVERESTIMATE = 2  # times the measured rate: what is estimated is not shown

MB = _lines.MB


class _NotKnown:
    """The loss of a step where the framework does not tell it."""

    def item(self):
        return None


_not_known = _NotKnown()


def print_beside_bars(text):
    """Above tqdm's progress bars, where there are any."""
    bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
    try:
        if getattr(bars, "_instances", None):
            return bars.write(text)
    except Exception:  # an output that is closed, or has not these characters
        pass
    print_text(text)


def size_text(size):
    for unit, name in ((MB * 1024, "GB"), (MB, "MB"), (1024, "KB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} B"


def _items_text(count):
    text = f"{count:.2g}" if count < 10 else f"{count:,.0f}"
    return f"{text} item" if text == "1" else f"{text} items"


def _holder_text(holder, verdict):
    is_of_device = not (verdict.kind or "").startswith("host.")
    size = holder.per_step(is_of_device)
    parts = [f"{holder.path}: a {holder.type_name} that grows by "
             f"{_items_text(holder.items_per_step)} a step"]
    if 0 < size <= OVERESTIMATE * verdict.rate:
        parts.append(f"about {size_text(size)} a step")
    if holder.keeps_graph:
        parts.append("tensors with their graph among them (keep .detach() or .item() of them)")
    place = f" ({holder.where})" if holder.where else ""
    return f"   Held by: {', '.join(parts)}{place}"


class _TrainingWatcher(Watcher):
    """A Watcher that a framework's hooks drive: names holders, writes beside progress bars."""

    def __init__(self, holders, **options):
        self._holders = holders
        self._first_step, self._began = options["start_step"], time.perf_counter()
        super().__init__(**options)

    # ---- what is printed ----

    def _print(self, text):
        print_beside_bars(text)

    def _shown_loss(self, loss):
        if loss is _not_known and math.isnan(self._last_loss):
            return None
        return super()._shown_loss(loss)

    def _below_leak(self, verdict):
        self._holders.look(self.step_count)
        return self._named(verdict) or super()._below_leak(verdict)

    def _named(self, verdict):
        lines = [_holder_text(h, verdict) for h in self._holders.of(verdict)[:MOST_HOLDERS]]
        return "".join(f"\n{line}" for line in lines)

    # ---- the end ----

    @shielded
    def end(self, before):
        """Training is over. before: the census to compare with."""
        if self.closed:
            return
        self._holders.look(self.step_count)
        if self._end() and self._prints():
            self._say("\n".join(self._summary(before)))

    def _summary(self, before):
        verdict = self.verdict()
        steps, seconds = self.step_count - self._first_step, time.perf_counter() - self._began
        yield f"tidemark: {steps:,} steps in {seconds:,.0f} s"
        yield _lines.verdict_line(verdict) + (self._named(verdict) or self._advice(verdict))
        yield from self._growth(before)
        yield from _census.lines(_census.take(self.step_count), before.census)

    def _advice(self, verdict):
        look_at = advice(verdict) if verdict.answer == "leak" else None
        return f"\n   Look at: {look_at}" if look_at else ""

    def _growth(self, before):
        now = Sizes.now(self)
        for name, then, at_end in zip(Sizes.NAMES, before.sizes.values, now.values):
            if then is not None and at_end is not None:
                yield (f"   {name}: {at_end / MB:,.1f} MB, {(at_end - then) / MB:+,.1f} MB since "
                       f"step {before.sizes_step:,}")


class Sizes:
    """Memory at a moment, in bytes; None: not known."""

    NAMES = ("Host memory", "torch allocated", "torch reserved")
    METRICS = ("memory/host_mb", "memory/torch_allocated_mb", "memory/torch_reserved_mb")

    def __init__(self, values):
        self.values = values

    @classmethod
    def now(cls, watcher):
        look = watcher._look_now()
        if look.cpu_used is not None:  # since the last look, which was ours
            watcher._cpu_used = look.cpu_used
        return cls((look.host_bytes, _torch.vram_bytes(watcher.device),
                    _torch.vram_reserved_bytes(watcher.device)))

    def metrics(self):
        return {name: value / MB for name, value in zip(self.METRICS, self.values)
                if value is not None}


class _Before:
    """What there was after the warm-up, for the end to be compared with.

    The warm-up is a tenth of the plan, at most an epoch. A census takes tens of milliseconds: one
    is made before the first step, and one after the warm-up as soon as it would not be felt.
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
        self.census = _census.take(self._watcher.step_count)
        self._cost = time.perf_counter() - begin


class _Rarely:
    """Does something only after it has been left undone for long enough."""

    def __init__(self):
        self._end, self._cost = time.perf_counter(), 0.0

    def within_share(self, do):
        """What it gives; None: it would be felt."""
        begin = time.perf_counter()
        if self._cost > METRICS_SHARE_OF_TIME * (begin - self._end):
            return None
        result = do()
        self._end = time.perf_counter()
        self._cost = self._end - begin
        return result


class Training:
    """One training, from its first step to its last.

    options: of Watcher(). roots: for tidemark._holders.Holders. No method raises what a failing
    watcher would: the callbacks' hooks are shielded.
    """

    def __init__(self, roots, start_step, plan_steps, epoch_steps, device, options):
        self._holders = Holders(roots)
        # Not the plan: a leak is one also where this training ends before it matters.
        self.watcher = _TrainingWatcher(
            self._holders, start_step=start_step,
            **({"device": device} if getattr(device, "type", None) == "cuda" else {}),
            **({"epoch_steps": epoch_steps} if epoch_steps else {}), **options)
        self._phase = None
        self._before = _Before(
            self.watcher, start_step + _warm_up_steps(start_step, plan_steps, epoch_steps))
        self._looks, self._judgements = _Rarely(), _Rarely()
        self._judged = {}
        self._holders.look(start_step)

    # ---- steps and phases ----

    def step(self, loss=None):
        self.phase(None)
        watcher = self.watcher
        watcher.step(_not_known if loss is None else loss)
        self._holders.look_in_time(watcher.step_count)
        if not self._before.is_complete:
            self._before.step()

    def epoch_end(self):
        self.phase(None)
        self.watcher.epoch_end()

    def logged_loss(self, value):
        """Of several steps together, where each one's is not told."""
        self.watcher._add_loss(value)
        if not math.isfinite(value):
            self.watcher._check_spell(was_sent_for=False)

    def phase(self, name):
        """What goes on from now on, beside steps; None: nothing."""
        if name == self._phase:
            return
        if self._phase is not None:
            self.watcher.phase_end(self._phase)
        if name is not None:
            self.watcher.phase_begin(name)
        self._phase = name

    @property
    def current_phase(self):
        return self._phase

    # ---- what is told ----

    def metrics(self):
        """By name, for the framework's logger; {} where one more look would be felt."""
        sizes = self._looks.within_share(lambda: Sizes.now(self.watcher).metrics())
        if sizes is None:
            return {}
        judged = self._judgements.within_share(self._judge)
        self._judged = self._judged if judged is None else judged
        return {**sizes, **self._judged}

    def _judge(self):
        judged = {}
        host = self.watcher.verdict("host.anon")
        if host.rate is not None:
            judged["memory/growth_mb_per_step"] = host.rate / MB
        answer = self.watcher.verdict().answer
        if answer != "inconclusive":
            judged["memory/leak"] = float(answer == "leak")
        return judged

    def end(self):
        self.phase(None)
        self.watcher.end(self._before)


def _warm_up_steps(start_step, plan_steps, epoch_steps):
    planned = WARM_UP_SHARE * (plan_steps - start_step) if plan_steps else 0
    return max(WARM_UP_STEPS, min(planned, epoch_steps or planned))


# ---- a callback ----


class Callback(WarnsOnce):
    """What TidemarkCallback is in every framework, before its hooks."""

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
        self._training = None  # while one goes on

    @property
    def watcher(self):
        """The tidemark.Watcher of the training that goes on, or of the last one; None before."""
        return self._watcher

    _watcher = None

    def __getstate__(self):
        """A copy, in another process perhaps, has the settings and watches nothing yet."""
        return {**self.__dict__, "_training": None, "_watcher": None}

    def _begin(self, roots, **known):
        self._training = None
        self._training = Training(roots, options=self._options, **known)
        self._watcher = self._training.watcher

    def _finish(self):
        training, self._training = self._training, None
        if training is not None:
            training.end()


FRAMEWORKS = frozenset(("transformers", "accelerate", "lightning", "pytorch_lightning",
                        "lightning_fabric", "torch", "tidemark", "builtins"))


def is_of_framework(module):
    return module.partition(".")[0] in FRAMEWORKS


def roots_of(callbacks, *others):
    """(name, object): what a person knows of a training, for tidemark._holders."""
    modules = {"__main__"}
    for x in (*callbacks, *others):
        name = type(x).__name__
        yield name, x
        for kind in type(x).__mro__:
            if not is_of_framework(kind.__module__):
                modules.add(kind.__module__)
                yield name, kind
    for module in sorted(modules & sys.modules.keys()):
        for name, value in list(vars(sys.modules[module]).items()):
            if not name.startswith("__") and not _is_borrowed(value, module):
                yield f"{module}.{name}", value


def _is_borrowed(value, module):
    """A class that another module has made."""
    return issubclass(type(value), type) and value.__module__ != module
