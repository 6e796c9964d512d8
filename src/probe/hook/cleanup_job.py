"""Cleanup in a job whose code is not changed: TIDEMARK_CLEANUP=every=10,gc=1,set_to_none=1,...

The probe runs this source after that of tidemark/_cleanup.py, in the same namespace. It calls
begin(), then Job.install() until that returns true, then the other methods at their events.
"""

import threading

REPORT_SECONDS = 0.05  # between two reports of the counters


class Setting(typing.NamedTuple):
    """The value of TIDEMARK_CLEANUP; None leaves the program's own setting."""

    every: typing.Optional[int] = None
    gc: bool = True
    empty_cache: bool = True
    trim: bool = True
    zero_grad: typing.Union[str, bool] = "safe"
    set_to_none: typing.Optional[bool] = None
    workers: typing.Optional[int] = None


def _number(text, least):
    number = int(text) if text.isascii() and text.isdigit() else -1
    if number < least:
        raise ValueError(text)
    return number


def _flag(text):
    return {"0": False, "1": True}[text]


READERS = {
    "every": lambda text: None if text == "none" else _number(text, 1),
    "gc": _flag,
    "empty_cache": _flag,
    "trim": _flag,
    "zero_grad": lambda text: {"safe": "safe", "0": False}[text],
    "set_to_none": _flag,
    "workers": lambda text: _number(text, 0),
}


def read_setting(text):
    """None: it cannot be parsed, and then no part of it is applied."""
    values = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (word.strip() for word in part.partition("="))
        try:
            values[key] = READERS[key](value)
        except (KeyError, ValueError):
            return None
    return Setting(**values)


# ---- the default of zero_grad() ----


def _set_default(method, value):
    """Sets the default of set_to_none, the last argument of torch's own function in any wrapper."""
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    names = method.__code__.co_varnames[:method.__code__.co_argcount]
    if names[-1:] == ("set_to_none",) and len(method.__defaults__ or ()) == 1:
        method.__defaults__ = (value,)


# ---- workers ----

WORKER_ATTRIBUTES = ("num_workers", "prefetch_factor", "timeout")


def _feeds_training(torch, loader):
    """An IterableDataset unaware of workers would be read by each of them: it is left alone."""
    return torch.is_grad_enabled() and not isinstance(
        loader.dataset, torch.utils.data.IterableDataset)


def _set_workers(loader, count):
    loader.num_workers = count
    if count == 0:
        loader.timeout = 0
    elif loader.prefetch_factor is None:
        loader.prefetch_factor = 2


def _with_workers(original, count):
    """DataLoader.__iter__ with this many workers; unchanged if that is not possible."""

    @functools.wraps(original)
    def __iter__(loader):
        torch = sys.modules["torch"]
        try:
            if _feeds_training(torch, loader):
                before = {name: getattr(loader, name) for name in WORKER_ATTRIBUTES}
                try:
                    _set_workers(loader, count)
                    return original(loader)
                except Exception as error:
                    vars(loader).update(before)
                    if came_by_signal(error):
                        raise
        except Exception as error:
            if came_by_signal(error):
                raise
            # not a loader like torch's
        return original(loader)

    return __iter__


# ---- the job ----


class _JobCleanup(Cleanup):
    """The probe has its own hook and reports steps; no optimizer existed before it."""

    def _hook(self):
        if self._gradients is not None:
            _hooks.add(self._gradients, steps=False)
            self._gradients.seen_all()


def _harmless(method):
    """Drops errors of ours; passes on exceptions from signal handlers of the program."""

    @functools.wraps(method)
    def call(self, *args):
        try:
            method(self, *args)
        except Exception as error:
            if came_by_signal(error):
                raise

    return _not_compiled(call)


class Job:
    """Applies the setting. `report(kind, device, is_count, value)` is a function of the probe."""

    def __init__(self, setting, report):
        self._setting, self._report = setting, report
        self._cleanup = None
        self._thread = None  # made the last step, while its gradients may be freed
        self._next_report = 0.0
        self._is_refused = setting is None

    def install(self):
        """True: everything is in place. Torch may be half imported."""
        if self._setting is None:
            return True
        try:
            optimizer = sys.modules["torch.optim.optimizer"].Optimizer
            module = sys.modules["torch.nn.modules.module"].Module
            loader = sys.modules["torch.utils.data.dataloader"].DataLoader
        except (KeyError, AttributeError):
            return False
        s = self._setting
        if s.set_to_none is not None:
            _set_default(optimizer.zero_grad, s.set_to_none)
            _set_default(module.zero_grad, s.set_to_none)
        if s.workers is not None:
            _replace(loader, "__iter__", _with_workers(loader.__iter__, s.workers))
        if s.every is not None:
            self._cleanup = _JobCleanup(s.every, True, s.gc, s.empty_cache, s.trim, s.zero_grad)
        return True

    @_harmless
    def stepped(self, optimizer, is_counted):
        """After an optimizer step; is_counted: it is a training step."""
        if self._is_refused:
            self._is_refused = False
            self._report("cleanup.refused", "", True, 1)
        cleanup = self._cleanup
        if cleanup is None:
            return
        if cleanup._gradients is not None:
            cleanup._gradients.stepped(optimizer)
        if is_counted:
            self._count_step(cleanup)

    def _count_step(self, cleanup):
        cleanup.steps += 1
        if cleanup.steps % cleanup.every == 0:
            cleanup._clean([name for name in cleanup._counts if name != "zero_grad"])
            self._thread = threading.get_ident() if cleanup.zero_grad else None
            self._report_counts()
        cleanup._foresee()

    @_harmless
    def batch_taken(self):
        """From a loader. A program that reads gradients does so before its next batch."""
        if self._thread is not None and self._thread == threading.get_ident():
            self._thread = None
            self._cleanup._clean(["zero_grad"])

    def _report_counts(self):
        now = time.perf_counter()
        if now < self._next_report:
            return
        self._next_report = now + REPORT_SECONDS
        for name, c in self._cleanup._counts.items():
            if c.times:
                self._report_count(name, c)

    def _report_count(self, name, c):
        self._report(f"cleanup.{name}.freed", "", False, c.freed_host)
        if _cuda() is not None:
            self._report(f"cleanup.{name}.freed", "cuda", False,
                       c.freed_reserved if name == "empty_cache" else c.freed_allocated)
        self._report(f"cleanup.{name}.seconds", "", True, c.seconds)


def begin(text, report):
    """A Job, even if the text cannot be parsed: the first step reports that."""
    return Job(read_setting(text), report)
