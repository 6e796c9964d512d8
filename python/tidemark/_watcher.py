"""tidemark.Watcher: watches a training loop from inside."""

import atexit
import errno
import json
import math
import os
import re
import sys
import time
import typing
import weakref

from tidemark import _arguments, _core, _lines, _outside, _program, _torch
from tidemark._advice import GPU_KINDS, advice
from tidemark._cleanup import is_of_handler
from tidemark._losses import LossTracker
from tidemark._shield import WarnsOnce, shielded

WAITING_SHARE = 0.3  # share of time spent waiting for data that is worth a warning
BUSY_GPU = 0.7  # a device this busy is not starving
NAMES_TRIED = 100

_core.load_probe(os.path.join(os.path.dirname(_program.PROGRAM), "libtidemark_probe.so"))


class Verdict(typing.NamedTuple):
    """An answer. Unknown values are None; sizes in bytes, rates per step."""

    answer: str  # "leak", "no_leak", "inconclusive"
    severity: typing.Optional[str] = None  # of a leak: "negligible", "low", "medium", "high"
    confidence: typing.Optional[float] = None
    kind: typing.Optional[str] = None  # of the deciding series: "host.anon", "torch.allocated"
    device: typing.Optional[str] = None
    rate: typing.Optional[float] = None
    rate_upper: typing.Optional[float] = None  # upper bound of the growth, if it is not a leak
    needs_steps: typing.Optional[float] = None  # steps until it can be judged
    limit_step: typing.Optional[float] = None  # step at which memory runs out
    suspect_step: typing.Optional[float] = None
    alarm_step: typing.Optional[float] = None
    summary: str = ""  # one sentence

    def __str__(self):
        return self.summary


def matters(verdict):
    """Whether it is a leak that is not negligible."""
    return verdict.answer == "leak" and verdict.severity != "negligible"


class _Now(typing.NamedTuple):
    host_bytes: typing.Optional[float] = None
    system_used: typing.Optional[float] = None
    cpu_used: typing.Optional[float] = None
    gpu_used: typing.Optional[float] = None


class _TimedIterator:
    """Not a generator, which would keep a batch that the loop has dropped."""

    def __init__(self, loader, add_wait):
        begin = time.perf_counter()
        self._items, self._add_wait = iter(loader), add_wait
        add_wait(time.perf_counter() - begin)

    def __iter__(self):
        return self

    def __next__(self):
        begin = time.perf_counter()
        batch = next(self._items)
        self._add_wait(time.perf_counter() - begin)
        return batch


class _Timed:
    """An iterable that reports the waiting time of each item to its watcher."""

    def __init__(self, loader, add_wait):
        self._loader, self._add_wait = loader, add_wait

    def __iter__(self):
        return _TimedIterator(self._loader, self._add_wait)

    def __len__(self):
        return len(self._loader)

    def __getattr__(self, name):
        # Python looks up x[i] and the like in the type: forwarded, they would seem to exist and
        # then fail. And a copy under construction has no loader yet.
        if name == "_loader" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._loader, name)


class _Phase:
    """A `with` block that is an activity; exceptions pass through."""

    def __init__(self, watcher, name):
        self._watcher, self._name = watcher, name

    def __enter__(self):
        self._watcher.phase_begin(self._name)

    def __exit__(self, *_):
        self._watcher.phase_end(self._name)


class Watcher(WarnsOnce, _core.Watcher):
    """Watches a training loop from inside; a drop-in replacement for TrainWatch's Watcher.

    >>> watcher = Watcher(print_every=100)
    >>> for epoch in range(3):
    ...     for batch in loader:
    ...         watcher.step(train_step(batch))
    ...     watcher.epoch_end()
    >>> watcher.verdict().answer
    'no_leak'

    window: losses in the moving average; print_every: steps between lines, 0: print nothing;
    sync_interval: steps between two reads of a loss on a device; show_gpu: show VRAM in the lines;
    warn_on_leak, warn_on_bottleneck, warn_on_variance: what to warn about; device: the device whose
    VRAM is shown. leak_threshold_mb, leak_streak_mb: warn about VRAM by fixed limits instead of by
    evidence: growth since the first epoch, and growth per epoch twice in a row, in MB.

    start_step: steps made before a resumed training. run_file: record to this file (True: choose a
    name), one file per rank. plan_steps: the step at which training will end; horizon: the longest
    ramp, in steps, that may still be harmless; epoch_steps: steps per epoch. logger: a
    logging.Logger, or its name, to use instead of sys.stdout. on_leak: called with a Verdict, once
    for every series that starts to leak, from severity "low" on.
    """

    def __init__(self, window=20, print_every=100, sync_interval=10, show_gpu=True,
                 warn_on_leak=True, warn_on_bottleneck=True, warn_on_variance=True,
                 device="cuda:0", leak_threshold_mb=None, leak_streak_mb=None, *, start_step=0,
                 run_file=None, plan_steps=None, horizon=None, epoch_steps=None, logger=None,
                 on_leak=None):
        self.window = _arguments.whole("window", window, 1)
        self.print_every = _arguments.whole("print_every", print_every, 0)
        self.sync_interval = _arguments.whole("sync_interval", sync_interval, 1)
        start_step = _arguments.whole("start_step", start_step, 0)
        super().__init__(self.window, self.print_every, self.sync_interval, start_step)
        self.show_gpu, self.device = show_gpu, _arguments.device(device)
        self.warn_on_leak, self.warn_on_variance = warn_on_leak, warn_on_variance
        self.warn_on_bottleneck = warn_on_bottleneck
        self.leak_threshold_mb = _arguments.megabytes("leak_threshold_mb", leak_threshold_mb)
        self.leak_streak_mb = _arguments.megabytes("leak_streak_mb", leak_streak_mb)
        self.epoch_count = 0
        self._variance_baseline = None  # of the losses, at the end of the first epoch
        self._logger, self._on_leak = _arguments.logger(logger), _arguments.on_leak(on_leak)
        self._sent = _torch.LossOnDevice()
        self._vram_first = self._ram_first = None  # at the end of the first epoch
        self._vram_delta, self._streak = None, 0
        self._bad_step = None  # the last step whose loss was not finite
        self._waited, self._waited_since, self._told_of_waiting = 0.0, time.perf_counter(), False
        self._verdict_step = None  # of the last verdict that was printed
        numbers = [float(start_step), _arguments.steps("plan_steps", plan_steps),
                   _arguments.steps("horizon", horizon),
                   _arguments.steps("epoch_steps", epoch_steps)]
        self._open_with(_arguments.run_file(run_file), numbers)
        self._cpu_used = 0.0  # the last known value
        _open_watchers.add(self)

    @property
    def loss_tracker(self):
        """Average, variance and trend of the losses in the window."""
        return LossTracker(self)

    @property
    def baselines_set(self):
        """Whether the first epoch, the baseline for the others, has ended."""
        return self.epoch_count > 0

    # ---- in the loop ----

    def epoch_end(self):
        """Ends an epoch and prints its summary.

        >>> watcher.epoch_end()
        ✓ Epoch 1 complete - baselines set
        """
        if self.closed:
            self._on_closed()
        elif self._epoch_end():  # not in the child of a fork
            self._end_epoch()

    def data(self, loader):
        """Wraps a loader and measures the time spent waiting for each batch.

        >>> for images, labels in watcher.data(loader):
        ...     watcher.step(train_step(images, labels))
        """
        return _Timed(loader, self._add_wait)

    def count(self, name, value, unit="bytes", device=None):
        """Records the program's own counter, which is judged like tidemark's counters.

        >>> watcher.count("replay.entries", len(replay), unit="count")
        """
        if unit not in ("bytes", "count"):
            raise ValueError(f'count() needs unit="bytes" or unit="count", not {unit!r}')
        if self.closed:
            return self._on_closed()
        try:
            self._count(name, device, unit == "count", value)
        except OSError as error:
            # Harmless: in a forked child; or another thread is naming a counter, try next time.
            if error.errno not in (errno.ECHILD, errno.EAGAIN):
                why = _why_not_counted(error, name, device, value)
                about = name if error.errno == errno.EINVAL else None
                self._warn_once(("count", about, why),
                                f"tidemark: the counter {name!r} is not recorded: {why}")

    def phase_begin(self, name):
        """Begins an activity beside the steps, such as an evaluation or saving a checkpoint.

        The report shows memory taken until phase_end(name) under that name.

        >>> watcher.phase_begin("evaluate")
        """
        self._change_phase(self._phase_begin, name)

    def phase_end(self, name):
        """Ends an activity; does nothing if it has not begun.

        >>> watcher.phase_end("evaluate")
        """
        self._change_phase(self._phase_end, name)

    def phase(self, name):
        """Calls phase_begin(name) and phase_end(name) around a block.

        >>> with watcher.phase("evaluate"):
        ...     evaluate(model)
        """
        _arguments.phase(name)
        return _Phase(self, name)

    # ---- the answer ----

    def verdict(self, kind=None, device=None):
        """The answer so far, for the whole process or for one series.

        >>> watcher.verdict().answer
        'inconclusive'
        >>> watcher.verdict("host.anon").rate
        65536.0
        """
        try:
            return Verdict(*self._judge(kind, device))
        except OSError as error:
            what = f"there is no series {kind!r}" if error.errno == errno.ENOENT else (
                self._why_not(error))
            return Verdict("inconclusive", summary=what)

    def json(self):
        """The whole report as JSON text; docs/JSON.md describes it.

        >>> json.loads(watcher.json())["verdict"]
        'no_leak'
        """
        try:
            return self._json()
        except OSError as error:
            return json.dumps({"tidemark": _core.version, "verdict": "inconclusive",
                               "summary": self._why_not(error)})

    def report(self):
        """The report so far, as `tidemark run` prints it at the end.

        >>> print(watcher.report())
        """
        try:
            return self._report()
        except OSError as error:
            return self._why_not(error)

    # ---- the end ----

    @shielded
    def close(self):
        """Ends the watching: prints the final verdict and completes the run file.

        The answers stay available. Without close(), the run file is completed when the program ends.
        """
        if self.closed:
            return
        if self._end() and self.step_count != self._verdict_step and self._prints():
            self._say_verdict(_lines.verdict_line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _end(self):
        """False in a forked child."""
        try:
            self._finish()
        except OSError as error:
            if error.errno == errno.ECHILD:
                return False
            self._warn_once("end", f"tidemark: the run file is incomplete: {error.strerror}")
        return True

    # ---- phases ----

    def _change_phase(self, change, name):
        _arguments.phase(name)
        if self.closed:
            return self._on_closed()
        try:
            change(name)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) != errno.ECHILD:
                why = _why_no_phase(name)
                self._warn_once(("phase", name), f"tidemark: the phase {name!r} is not recorded: {why}")

    # ---- opening ----

    def _open_with(self, run_file, numbers):
        for path in _run_file_names(run_file):
            try:
                return self._open(path, *numbers, False)
            except OSError as error:
                why = error.strerror  # the error itself would keep this frame, and so this object, alive
                if error.errno != errno.EEXIST:
                    break
        if run_file:
            self._warn_once("run file", f"tidemark: {path}: {why}: this run is not "
                            "recorded; give run_file= the name of a new, writable file")
            return self._open_with(None, numbers)
        self._warn_once("open", f"tidemark: cannot watch the memory: {why}")

    # ---- called by the base class ----

    def _reading(self, loss):
        return _torch.reading_of(loss)

    def _fetch(self, loss):
        return self._sent.exchange(loss) if _torch.is_tensor(loss) else loss.item()

    @shielded
    def _on_line(self, loss, seconds):
        self._take_arrived(self._sent.arrived())
        if not self._prints():
            return
        now = self._look_now()
        if now.cpu_used is not None:
            self._cpu_used = now.cpu_used
        self._say(_lines.step_line(self.step_count, self._shown_loss(loss), seconds,
                                   self._cpu_used, now.system_used, self._vram()))
        if self.epoch_count > 0 and self.warn_on_variance:
            self._check_variance()
        if self.warn_on_bottleneck:
            self._check_waiting(now.gpu_used)

    @shielded
    def _on_leaks(self, leaks):
        for verdict in (Verdict(*leak) for leak in leaks):
            by_limits = verdict.kind in GPU_KINDS and (
                self.leak_threshold_mb is not None or self.leak_streak_mb is not None)
            if self.warn_on_leak and not by_limits:
                self._tell_of(verdict)
            if self._on_leak and matters(verdict):
                self._on_leak(verdict)

    def _tell_of(self, verdict):
        """Stays silent if `tidemark run` announces the leak, with its holder."""
        if not self._logger and _outside.tells_leaks():
            return
        if matters(verdict):
            below = self._why(verdict, may_search=True)
            self._warn(f"step {self.step_count}: {verdict.summary}{below}")
        elif self._prints():
            self._say(_lines.negligible(self.step_count, verdict))

    @shielded
    def _on_census(self, _):
        """A new census, after a leak was announced without its holder."""
        held = self._holders(False).splitlines()
        if held and self.warn_on_leak and self._prints():
            known = f"why (known at step {self.step_count}):"
            self._say("\n".join(f"   {line.replace('why:', known, 1)}" for line in held))

    def _why(self, verdict, may_search=False):
        """Lines below a verdict: the holders of the growth, or where to look; may be ""."""
        grows = verdict.answer == "leak" or (
            verdict.answer == "inconclusive" and (verdict.rate or 0) > 0)
        is_quiet = verdict.answer == "leak" and not matters(verdict) and not self.closed
        if not grows or is_quiet:
            return ""
        held = self._holders(may_search) if _is_memory(verdict.kind) else ""
        if verdict.answer != "leak":
            held = held.replace("why: ", "why: growing so far: ")
        if held or verdict.answer != "leak":
            return "".join(f"\n   {line}" for line in held.splitlines())
        fix = advice(verdict)
        return f"\n   fix: {fix}" if fix and not _outside.tells_leaks() else ""

    @shielded
    def _on_not_finite(self, loss):
        self._check_spell(was_sent_for=not getattr(loss, "is_cpu", True))

    def _on_unreadable(self, error):
        if is_of_handler(error.__traceback__):
            raise error
        kind = re.sub(r"0x[0-9a-f]+|\d+", "", str(error))
        self._warn_once(("loss", kind), f"tidemark: could not read the loss of step "
                        f"{self.step_count + 1} ({error}): pass one number, or a tensor of one "
                        "value, such as loss.mean(); the step counts without it")

    def _on_closed(self):
        self._warn_once("closed", "tidemark: this Watcher is closed and no longer counts steps: create "
                        "a new one, or call close() after the last step")

    # ---- output ----

    def _prints(self):
        return self.print_every > 0 and _torch.rank() in (None, 0)

    def _say(self, text):
        if self._logger:
            for line in filter(None, text.split("\n")):
                self._logger.info(line)
        else:
            self._print(text)

    def _warn(self, text):
        if not self._prints():
            return
        if self._logger:
            self._logger.warning(text)
        else:
            self._print(_lines.warning(text))

    def _print(self, text):
        print_text(text)

    def _say_verdict(self, form, *more):
        verdict = self.verdict()
        self._say(form(verdict, *more) + self._why(verdict))
        self._verdict_step = self.step_count

    # ---- epochs ----

    @shielded
    def _end_epoch(self):
        self._take_arrived(self._last_sent())
        self.epoch_count += 1
        self._told_of_waiting = False
        vram, ram = self._vram(), self._look_now().host_bytes
        if self.epoch_count == 1:
            self._vram_first, self._ram_first = vram, ram
            self.loss_tracker.set_variance_baseline()
            if self._prints():
                self._say(_lines.first_epoch(self.epoch_count))
            return
        vram_delta = _difference(vram, self._vram_first)
        if self._prints():
            self._say_epoch(self.loss_tracker.get_moving_average(), vram_delta,
                            _difference(ram, self._ram_first))
        if self.warn_on_leak and vram_delta is not None:
            self._check_limits(vram_delta / _lines.MB)

    def _epoch_summary(self, loss, vram_delta):
        return _lines.epoch_summary(self.epoch_count, loss, self.loss_tracker.get_trend(),
                                    vram_delta)

    def _say_epoch(self, loss, vram_delta, ram_delta):
        self._say(self._epoch_summary(loss, vram_delta))
        self._say_verdict(_lines.below_summary, ram_delta)

    def _check_limits(self, delta):
        """TrainWatch's optional limits for VRAM growth since the first epoch, in MB."""
        growth, self._vram_delta = _difference(delta, self._vram_delta), delta
        if self.leak_streak_mb is not None and growth is not None:
            self._streak = self._streak + 1 if growth > self.leak_streak_mb else 0
        if self.leak_threshold_mb is not None and delta > self.leak_threshold_mb:
            self._warn(f"VRAM grew by {delta:.1f}MB since epoch 1, more than the allowed "
                       f"{self.leak_threshold_mb:g}MB: possible leak")
        elif self._streak >= 2:
            self._warn(f"VRAM grew by more than {self.leak_streak_mb:g}MB in each of the last "
                       f"{self._streak} epochs, {delta:+.1f}MB in total: possible leak")

    # ---- the loss ----

    def _last_sent(self):
        """Waits for the loss still on its way, so that the epoch's summary includes it."""
        return self._sent.wait()

    def _take_arrived(self, value):
        if value is not None:
            self._add_loss(value)
            if not math.isfinite(value):
                self._check_spell(was_sent_for=True)

    def _check_spell(self, was_sent_for):
        """Warns about a loss that is not finite: once, and again only after a window of good ones."""
        quiet_steps = self.step_count - (self._bad_step or -math.inf)
        self._bad_step = self.step_count
        if quiet_steps > self.window:
            at = f"about {self.sync_interval} steps before step" if was_sent_for else "at step"
            self._warn(f"the loss is {self._last_loss} {at} {self.step_count}")

    def _shown_loss(self, loss):
        """The moving average or, until there is one, the last known loss."""
        average = self.loss_tracker.get_moving_average()
        if average is not None:
            return average
        known = self._last_loss
        return float(_torch.without_graph(loss)) if math.isnan(known) else known

    def _check_variance(self):
        if self.loss_tracker.detect_variance_spike():
            variance, first = self.loss_tracker.get_variance(), self.loss_tracker.variance_baseline
            self._warn(f"the loss variance is {variance / first:.0f} times that at the end of "
                       f"epoch 1 ({variance:.3g}, was {first:.3g}): training may be unstable")

    # ---- waiting for data ----

    def _add_wait(self, seconds):
        self._waited += seconds

    def _check_waiting(self, gpu_used):
        """Judges the batches since the last line; warns at most once per epoch."""
        now = time.perf_counter()
        share = self._waited / (now - self._waited_since)
        waited, self._waited, self._waited_since = self._waited, 0.0, now
        is_starving = share >= WAITING_SHARE and (gpu_used is None or gpu_used < BUSY_GPU)
        if not is_starving or self._told_of_waiting:
            return
        self._told_of_waiting = True
        gpu = f", the GPU was busy {100 * gpu_used:.0f}%" if gpu_used is not None else ""
        self._warn(f"{100 * share:.0f}% of the time was spent waiting for data "
                   f"({waited / self.print_every:.3f}s per step){gpu}: use more DataLoader workers "
                   "or make loading cheaper")

    # ---- the moment ----

    def _look_now(self):
        try:
            return _Now(*self._look())
        except OSError:
            return _Now()

    def _vram(self):
        return _torch.vram_bytes(self.device)[0] if self.show_gpu else None

    def _why_not(self, error):
        if error.errno == errno.ECHILD:
            return "this process is a forked child: only its parent is watched"
        return f"memory is not watched: {error.strerror}"


def watch(*args, **options):
    """A Watcher for a `with` block; takes the same arguments.

    >>> with tidemark.watch(print_every=50) as w:
    ...     for batch in loader:
    ...         w.step(train_step(batch))
    """
    return Watcher(*args, **options)


# ---- helpers ----

_open_watchers = weakref.WeakSet()


@atexit.register
def _close_all():
    """Completes the run file of a program that does not call close()."""
    for watcher in list(_open_watchers):
        if not watcher.closed:
            watcher._end()


def _why_not_counted(error, name, device, value):
    """The rules are tidemark_count()'s."""
    if error.errno == errno.ENOSPC:
        return "too many counters have names already"
    if error.errno != errno.EINVAL:
        return error.strerror
    if not math.isfinite(value):
        return f"its value is {float(value)}"
    if name.startswith("host."):
        return 'names that begin with "host." are tidemark\'s own: choose another name'
    for what, text, most in (("name", name, 47), ("device", device or "", 22)):
        if wrong := _what_is_wrong(what, text, most):
            return wrong
    return "its name is empty" if not name else "memory is not watched"


def _why_no_phase(name):
    """The rules are tidemark_phase_begin()'s."""
    if not name:
        return "its name is empty"
    return _what_is_wrong("name", name, 47) or "memory is not watched"


def _what_is_wrong(what, text, most):
    size = len(text.encode(errors="surrogatepass"))
    if size > most:
        return f"its {what} has {size} bytes, of at most {most}"
    if any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in text):
        return f"its {what} has characters that cannot be printed"


def _is_memory(kind):
    return (kind or "").startswith(("host.", "torch.", "gpu.", "py."))


def _difference(now, then):
    return now - then if now is not None and then is not None else None


def print_text(text):
    """Prints, replacing characters that cannot be encoded; a broken output is ignored."""
    out = sys.stdout
    try:
        print(text, file=out)
    except UnicodeEncodeError:
        print(text.encode(out.encoding, "replace").decode(out.encoding), file=out)
    except (OSError, ValueError, AttributeError):
        pass


def _run_file_names(run_file):
    """The names to try, in order; "" for none."""
    rank = f"-rank{_torch.rank()}" if _torch.is_one_of_several() else ""
    if not run_file:
        yield ""
    elif run_file is not True:
        stem, extension = os.path.splitext(run_file)
        yield f"{stem}{rank}{extension}"
    else:
        script = os.path.basename(getattr(sys.modules.get("__main__"), "__file__", None) or "run")
        stem = f"{os.path.splitext(script)[0]}-{time.strftime('%Y%m%d-%H%M%S')}{rank}"
        yield f"{stem}.tide"
        for i in range(2, NAMES_TRIED + 1):
            yield f"{stem}-{i}.tide"
