"""tidemark.Cleanup: frees memory every few steps, and measures what that frees and costs.

Uses only the standard library and takes torch from sys.modules, because the probe runs this same
text inside unmodified jobs.
"""

import ctypes
import functools
import gc
import operator
import os
import sys
import time
import typing
import weakref

MB = 1024 * 1024
ACTIONS = ("zero_grad", "gc", "empty_cache", "trim")  # in the order in which they run
ENOUGH = 5  # this many times in a row without effect make an action useless
MOST = 0.8  # and this share of all times: what only the first one freed does not count
NOISE_PAGES = 128  # statm is off by up to 87
NOISE_IN_USE = 16 * 1024  # heap bytes that fluctuate by themselves
CO_VARARGS = 4  # flag of a code object that takes *args
OBSERVING_SHARE = 0.002  # share of time for watching how the loop clears its gradients


class Count(typing.NamedTuple):
    """What one action has done so far. Sizes in bytes; amounts within the noise count as 0."""

    times: int = 0
    useful: int = 0  # times it freed something
    idle: int = 0  # times in a row, up to now, without effect
    freed_host: int = 0
    freed_allocated: int = 0  # on devices: memory of tensors
    freed_reserved: int = 0  # on devices: memory retained by torch's allocator
    objects: int = 0  # unreachable Python objects; only for "gc"
    seconds: float = 0.0


# ---- the program's own signal handlers ----


def _is_signal_handler(frame):
    """Whether the frame was called like a signal handler: a number and the interrupted frame."""
    code, values = frame.f_code, frame.f_locals
    told = [values.get(name) for name in code.co_varnames[:code.co_argcount]]
    if code.co_flags & CO_VARARGS:
        told += values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount]) or ()
    return (len(told) >= 2 and isinstance(told[-2], int) and frame.f_back is not None
            and told[-1] is frame.f_back)


def came_by_signal(error):
    """Whether the program's own signal handler raised it while it interrupted our code.

    Call it in the frame that caught the error. That frame itself is not examined: its variables and
    the error among them would keep each other alive.
    """
    return is_of_handler(error.__traceback__ and error.__traceback__.tb_next)


def is_of_handler(traceback):
    while traceback is not None:
        if _is_signal_handler(traceback.tb_frame):
            return True
        traceback = traceback.tb_next
    return False


# ---- memory in use ----


class _Held(typing.NamedTuple):
    private: int  # bytes in private pages
    in_use: int  # of the C library's heap; free heap memory stays there until it is trimmed
    allocated: int  # on all devices together
    reserved: int


class _HeapInfo(ctypes.Structure):
    """struct mallinfo2"""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def _from_libc(name, result, *arguments):
    """None: the C library lacks the function."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = result, list(arguments)
    return function


_mallinfo2 = _from_libc("mallinfo2", _HeapInfo)  # in the GNU C library since 2.33
_malloc_trim = _from_libc("malloc_trim", ctypes.c_int, ctypes.c_size_t)
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _cuda():
    """torch.cuda if the program uses it; not in a forked child."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _private_bytes():
    with open("/proc/self/statm", "rb") as f:
        _, resident, shared, *_ = f.read().split()
    return (int(resident) - int(shared)) * _PAGE


def _heap_in_use():
    if _mallinfo2 is None:
        return 0
    info = _mallinfo2()
    return info.uordblks + info.hblkhd


def _on_devices(cuda):
    """(allocated, reserved), summed over all devices."""
    devices = range(cuda.device_count())
    return (sum(cuda.memory_allocated(i) for i in devices),
            sum(cuda.memory_reserved(i) for i in devices))


def _held_now():
    cuda = _cuda()
    return _Held(_private_bytes(), _heap_in_use(), *(_on_devices(cuda) if cuda else (0, 0)))


def _freed(before, after):
    """The decrease of (host, allocated, reserved); a decrease within the noise is 0."""
    private, in_use = before.private - after.private, before.in_use - after.in_use
    return (max(private if private > NOISE_PAGES * _PAGE else 0,
                in_use if in_use > NOISE_IN_USE else 0),
            max(before.allocated - after.allocated, 0),
            max(before.reserved - after.reserved, 0))


def _is_being_captured():
    """Whether a CUDA graph is being recorded, whose memory must not change."""
    cuda = _cuda()
    return cuda is not None and cuda.is_current_stream_capturing()


def _not_compiled(function):
    """Keeps torch.compile() from tracing our calls below a compiled function."""
    uncompiled = []

    @functools.wraps(function)
    def call(*args):
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        if disable is None:
            return function(*args)
        if not uncompiled:
            uncompiled.append(disable(function))
        return uncompiled[0](*args)

    call._torchdynamo_disable = True
    return call


# ---- gradients ----

CONSUMED = "consumed"  # its optimizer has used it, and nothing has happened since
DROPPED = "dropped"  # set to None by us, after that
CLEARED = "cleared"  # set to None by the loop itself
KEPT = "kept"  # filled with zeros or written to by the loop


class _Record:
    """One parameter: its gradient at the optimizer's last step, and how the loop treats it."""

    __slots__ = ("param", "owner", "cycle", "state", "grad", "version", "clean", "good", "bad",
                 "shared")

    def __init__(self, param):
        self.param = weakref.ref(param)
        self.owner = None  # the optimizer's _Cycle
        self.cycle = 0  # the owner's cycle at the time of writing
        self.state = self.grad = self.version = None
        self.clean = False  # unchanged since the step when zero_grad() began
        self.good = 0  # cycles in which the loop itself set it to None
        self.bad = False  # in some cycle it did not
        self.shared = False  # it belongs to two optimizers

    def belongs_to(self, cycle):
        if self.owner is None:
            self.owner = cycle
        elif self.owner.is_of_another(cycle):
            self.shared = True

    def is_open(self):
        """Whether the record is of its owner's last step."""
        return self.state is not None and self.cycle == self.owner.number

    def is_untouched(self, grad):
        """Whether the gradient is unchanged since the step."""
        return (grad is not None and self.grad is not None and grad is self.grad()
                and grad._version == self.version)

    def may_be_dropped(self):
        return (self.is_open() and self.state == CONSUMED and self.good >= 2 and not self.bad
                and not self.shared)

    def end_cycle(self, owner):
        """Records, at the owner's next step, what the loop did in between."""
        if self.state is not None and self.cycle == owner.number - 1:
            if self.state == CLEARED:
                self.good += 1
            else:
                self.bad = True
        self.owner, self.state = owner, None

    def begin_cycle(self, grad):
        """Records that the owner stepped with this gradient."""
        self.cycle = self.owner.number
        if grad is not None and not self.bad:
            self.state, self.grad, self.version = CONSUMED, weakref.ref(grad), grad._version

    def zeroing(self, grad):
        self.clean = grad is None if self.state == DROPPED else self.is_untouched(grad)

    def zeroed(self, grad):
        """Records that zero_grad() returned, perhaps for other parameters."""
        if self.state not in (CONSUMED, DROPPED):
            return
        if grad is None and self.clean:
            self.state = CLEARED
        elif not (self.state == CONSUMED and self.is_untouched(grad)):
            self.state = KEPT


class _Cycle:
    """The time from one step of an optimizer to its next."""

    def __init__(self, optimizer):
        self.optimizer = weakref.ref(optimizer)
        self.number = 0
        self.parameters = 0  # its number of parameters
        self.is_watched = False

    def is_of_another(self, cycle):
        """A wrapper shares the parameter groups of the optimizer it wraps."""
        mine, other = self.optimizer(), cycle.optimizer()
        return (mine is not None and other is not None
                and mine.param_groups is not other.param_groups)


class _Gradients:
    """Finds used gradients that the loop would set to None anyway.

    A gradient may go if its optimizer has stepped since it was last written, and if the loop itself
    set it to None, unchanged, before its next step: at least twice, and in every watched cycle. The
    cycle before a cleanup is always watched, others as time allows. Gradients that the loop fills
    with zeros are left alone: with momentum or weight decay, a parameter without a gradient trains
    differently from one with a gradient of 0.

    Keeps no object of the program alive.
    """

    def __init__(self):
        self._cycles = {}  # by the optimizer's id
        self._records = {}  # by the parameter's
        self._is_watching = False
        self._knows_all = False  # all optimizers are known, even those without a step yet
        self._seconds, self._since = 0.0, time.perf_counter()
        self._seconds_told = 0.0
        self.is_due = False  # the next cleanup follows this step
        self.kept_bytes = 0  # size of gradients kept as zeros, at the last cleanup
        self.failure = None

    def _timed(method):
        """Runs within its share of the time and never fails in the program."""

        @functools.wraps(method)
        def call(self, *args):
            if self.failure:
                return
            begin = time.perf_counter()
            try:
                method(self, *args)
            except Exception as error:
                if came_by_signal(error):
                    raise
                self.failure = f"{type(error).__name__}: {error}"
                self._records.clear()
            self._seconds += time.perf_counter() - begin

        return _not_compiled(call)

    def _can_afford(self):
        return self._seconds <= OBSERVING_SHARE * (time.perf_counter() - self._since) + 0.005

    def seconds_since_last_asked(self):
        """Seconds spent on watching."""
        seconds, self._seconds_told = self._seconds - self._seconds_told, self._seconds
        return seconds

    # ---- what the program does ----

    @_timed
    def seen(self, optimizer):
        """An optimizer exists, and may use its parameters' gradients at any time."""
        self._cycle_of(optimizer)

    def seen_all(self):
        """Every optimizer is known now."""
        self._knows_all = True

    @_timed
    def stepped(self, optimizer):
        """An optimizer's step() has ended."""
        cycle = self._cycle_of(optimizer)
        cycle.number += 1
        was_watched, cycle.is_watched = cycle.is_watched, self.is_due or self._can_afford()
        if cycle.is_watched or was_watched:
            self._look_at(optimizer, cycle)
        self._is_watching = any(c.is_watched for c in self._cycles.values())

    def _look_at(self, optimizer, cycle):
        for param in _parameters(optimizer):
            record = self._record_of(param)
            record.end_cycle(cycle)
            if cycle.is_watched:
                record.begin_cycle(param.grad)

    @_timed
    def zeroing(self):
        """Somebody's zero_grad() begins."""
        if not self._is_watching:
            return
        for record, param in self._open_records():
            record.zeroing(param.grad)

    @_timed
    def zeroed(self):
        """zero_grad() has ended."""
        if not self._is_watching:
            return
        kept = 0
        for record, param in self._open_records():
            grad = param.grad
            record.zeroed(grad)
            if record.state == KEPT and grad is not None:
                kept += grad.numel() * grad.element_size()
        self.kept_bytes = max(self.kept_bytes, kept)

    # ---- what we do ----

    def drop(self, optimizer=None):
        """Sets to None what it may and returns how many; only of `optimizer` if given."""
        dropped = 0
        if not self._knows_all and any(r.may_be_dropped() for r, _ in self._open_records()):
            self._search()
        for record, param in self._open_records():
            of_another = optimizer is not None and record.owner.optimizer() is not optimizer
            if not of_another and record.may_be_dropped() and record.is_untouched(param.grad):
                param.grad = None
                record.state = DROPPED
                dropped += 1
        return dropped

    def _search(self):
        """Finds optimizers created before us that have not made a step."""
        kind = sys.modules["torch.optim.optimizer"].Optimizer
        for found in [o for o in gc.get_objects() if issubclass(type(o), kind)]:
            if hasattr(found, "param_groups"):
                self._cycle_of(found)
        self._knows_all = True

    def why_left_alone(self):
        """Why gradients are left alone, in words; None: they are not."""
        records = self._records.values()
        if self.failure:
            return f"could not be followed ({self.failure})"
        if not records:
            return "no optimizer has made a step"
        if any(r.good >= 2 and not r.bad and not r.shared for r in records):
            return None
        if self.kept_bytes:
            return (f"this loop keeps them as zeros; optimizer.zero_grad(set_to_none=True) would "
                    f"give back {_size(self.kept_bytes)} between steps")
        if all(r.shared for r in records):
            return "two optimizers share the parameters"
        if any(r.bad for r in records):
            return "this loop has not set them to None between two steps"
        return "too few steps so far"

    # ---- the books ----

    def _cycle_of(self, optimizer):
        """Starts to follow an optimizer with all its parameters."""
        cycle = self._cycles.get(id(optimizer))
        if cycle is None or cycle.optimizer() is not optimizer:
            self._forget_the_dead()
            cycle = self._cycles[id(optimizer)] = _Cycle(optimizer)
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        if cycle.parameters != count:
            cycle.parameters = count
            for param in _parameters(optimizer):
                self._record_of(param).belongs_to(cycle)
        return cycle

    def _record_of(self, param):
        record = self._records.get(id(param))
        if record is None or record.param() is not param:
            record = self._records[id(param)] = _Record(param)
        return record

    def _open_records(self):
        for record in list(self._records.values()):
            if record.is_open():
                param = record.param()
                if param is not None:
                    yield record, param

    def _forget_the_dead(self):
        self._cycles = {k: c for k, c in self._cycles.items() if c.optimizer() is not None}
        self._records = {k: r for k, r in self._records.items() if r.param() is not None}


def _parameters(optimizer):
    for group in optimizer.param_groups:
        yield from group["params"]


# ---- watching the program ----


class _Hooks:
    """Hooks on torch's optimizers and on zero_grad(), once per process, for all listeners."""

    def __init__(self):
        self.told = weakref.WeakSet()  # of _Gradients
        self._undo = []

    def add(self, gradients, steps=True):
        self.told.add(gradients)
        if not self._undo and "torch" in sys.modules:
            self._undo = [undo for undo in self._install(steps) if undo]

    def remove(self, gradients):
        """Not done by a destructor: torch may be walking its list of hooks at that moment."""
        self.told.discard(gradients)
        if not self.told:
            while self._undo:
                self._undo.pop()()

    def _install(self, steps):
        optim = sys.modules.get("torch.optim.optimizer")
        if steps:
            add = getattr(optim, "register_optimizer_step_post_hook", None)
            yield add(self._step_hook()).remove if add else self._hook_labels()
        optimizer = getattr(optim, "Optimizer", None)
        module = getattr(sys.modules.get("torch.nn.modules.module"), "Module", None)
        for owner, name, around in ((optimizer, "zero_grad", self._around_zero_grad),
                                    (module, "zero_grad", self._around_zero_grad),
                                    (optimizer, "add_param_group", self._around_add)):
            if hasattr(owner, name):
                yield _replace(owner, name, around(getattr(owner, name)))

    def stepped(self, optimizer):
        for gradients in list(self.told):
            gradients.stepped(optimizer)

    def _step_hook(self):
        def tidemark_step(optimizer, args, kwargs):
            self.stepped(optimizer)

        tidemark_step._torchdynamo_disable = True  # a compiled step calls it instead of tracing it
        return tidemark_step

    def _around_zero_grad(self, original):
        @functools.wraps(original)
        def zero_grad(*args, **kwargs):
            told = list(self.told)
            for gradients in told:
                gradients.zeroing()
            result = original(*args, **kwargs)
            for gradients in told:
                gradients.zeroed()
            return result

        zero_grad._torchdynamo_disable = True
        return zero_grad

    def _around_add(self, original):
        """Every new optimizer registers its parameters."""

        @functools.wraps(original)
        def add_param_group(optimizer, *args, **kwargs):
            result = original(optimizer, *args, **kwargs)
            for gradients in list(self.told):
                gradients.seen(optimizer)
            return result

        add_param_group._torchdynamo_disable = True
        return add_param_group

    def _hook_labels(self):
        """Before torch 2.0 a step ends with its profiler label."""
        profiler = sys.modules.get("torch.autograd.profiler")
        record = getattr(profiler, "record_function", None)
        if record is None:
            return None
        original = record.__exit__

        @functools.wraps(original)
        def __exit__(label, exception, *args):
            obj = None  # as torch calls it: the probe looks into this frame instead of torch's
            if exception is None and label.name.startswith("Optimizer.step#"):
                obj = sys._getframe(1).f_locals.get("obj")
            result = original(label, exception, *args)
            if obj is not None:
                self.stepped(obj)
            return result

        return _replace(record, "__exit__", __exit__)


def _replace(owner, name, function):
    """Returns how to undo it, unless somebody has replaced it since."""
    original = getattr(owner, name)

    def undo():
        if getattr(owner, name) is function:
            setattr(owner, name, original)

    setattr(owner, name, function)
    return undo


_hooks = _Hooks()

# ---- words ----


def _size(count):
    for unit, name in ((1024 * MB, "GB"), (MB, "MB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count / 1024:,.0f} KB"


def _duration(seconds):
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


class Cleanup:
    """Frees memory every few steps of a plain training loop, and measures the effect.

    >>> cleanup = tidemark.Cleanup(every=10)
    >>> for batch in loader:
    ...     train_step(batch)
    ...     cleanup.step()
    >>> print(cleanup.summary())

    every: steps between two cleanups, None: only after evaluations; on_evaluate: also at
    evaluated(). gc: collect Python's reference cycles; empty_cache: free what torch's allocator
    retains on CUDA devices; trim: free what the C library's allocator retains; zero_grad: "safe"
    sets used gradients to None if the loop would do so itself before it writes new ones, False
    leaves them alone. The weights are the same, bit for bit, with and without cleanup.

    Nothing here raises an exception into training, and nothing prints.
    """

    def __init__(self, every=10, on_evaluate=True, gc=True, empty_cache=True, trim=True,
                 zero_grad="safe"):
        self.every = _whole_or_none("every", every)
        self.on_evaluate = _yes_or_no("on_evaluate", on_evaluate)
        self.gc, self.trim = _yes_or_no("gc", gc), _yes_or_no("trim", trim)
        self.empty_cache = _yes_or_no("empty_cache", empty_cache)
        self.zero_grad = _safe_or_false(zero_grad)
        self.steps = self.cleanups = 0
        self.closed = False
        self.spent = 0.0  # seconds in cleanups, including watching and measuring
        self._since = self._last = None  # times of the first and the last step
        self._failures = {}  # by action: it failed and is left out from then on
        self._failure = None  # of the measuring
        self._from_program = None  # an exception raised by its signal handler
        self._counts = {name: Count() for name in ACTIONS if getattr(self, name)}
        self._gradients = _Gradients() if self.zero_grad else None
        self._hook()

    def _hook(self):
        if self._gradients is not None:
            _hooks.add(self._gradients)

    # ---- in the loop ----

    def step(self, optimizer=None):
        """Call it at the end of every training step; cleans up when it is time.

        optimizer: only its gradients may go. Without it, those of every optimizer that has made a
        step.
        """
        if self.closed:
            return
        self._last = time.perf_counter()
        if self._since is None:
            self._since = self._last
            self._hook()  # torch may have been imported late
        self.steps += 1
        is_time = self.every is not None and self.steps % self.every == 0
        self._foresee()
        if is_time:
            self._clean(self._counts, optimizer)
            self._last = time.perf_counter()

    def _foresee(self):
        """Watches the step before a cleanup."""
        if self._gradients is not None and self.every is not None:
            self._gradients.is_due = (self.steps + 1) % self.every == 0

    def evaluated(self):
        """Call it after an evaluation; frees what that left behind."""
        if self.on_evaluate and not self.closed:
            self._clean(self._counts)

    def close(self):
        """Ends the cleanups and removes the hooks on torch. summary() and counts stay available."""
        self.closed = True
        if self._gradients is not None:
            _hooks.remove(self._gradients)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        """A copy has the same settings and starts from zero."""
        return type(self), (self.every, self.on_evaluate, self.gc, self.empty_cache, self.trim,
                            self.zero_grad)

    # ---- cleaning ----

    def _clean(self, names, optimizer=None):
        begin = time.perf_counter()
        try:
            if not _is_being_captured():
                self._clean_each(names, optimizer)
                self.cleanups += 1
        except Exception as error:
            if came_by_signal(error):
                self._from_program = error
            else:
                self._failure = f"{type(error).__name__}: {error}"
        self.spent += time.perf_counter() - begin
        self._hand_on()

    def _clean_each(self, names, optimizer):
        held = _held_now()
        for name in names:
            if name not in self._failures and not self._cannot(name):
                held = self._measured(name, held, optimizer)

    def _cannot(self, name):
        """Why the action cannot do anything now; None: it may."""
        if name == "empty_cache" and _cuda() is None:
            return "CUDA is not in use"
        if name == "trim" and _malloc_trim is None:
            return "this is not the GNU C library"
        return None

    def _measured(self, name, before, optimizer):
        begin = time.perf_counter()
        try:
            found = self._do(name, optimizer)
        except Exception as error:
            if came_by_signal(error):
                raise
            self._failures[name] = f"{type(error).__name__}: {error}"
            return before
        seconds = time.perf_counter() - begin
        if name == "zero_grad":
            watching = self._gradients.seconds_since_last_asked()
            seconds, self.spent = seconds + watching, self.spent + watching
        after = _held_now()
        freed = (0, 0, 0) if found == 0 else _freed(before, after)  # other threads free memory too
        self._add(name, freed, found if name == "gc" and found else 0, seconds)
        return after

    def _do(self, name, optimizer):
        """How many gradients or objects went; None: not known."""
        if name == "zero_grad":
            return self._gradients.drop(optimizer)
        if name == "gc":
            return self._collect()
        if name == "empty_cache":
            _cuda().empty_cache()
        else:
            _malloc_trim(0)
        return None

    def _collect(self):
        """Keeps an exception of the program's signal handler, for step() to raise."""
        try:
            return gc.collect()
        except Exception as error:
            self._from_program = error
            return None

    def _hand_on(self):
        error, self._from_program = self._from_program, None
        if error is not None:
            raise error

    def _add(self, name, freed, objects, seconds):
        c, (host, allocated, reserved) = self._counts[name], freed
        self._counts[name] = Count(
            c.times + 1, c.useful + any(freed), 0 if any(freed) else c.idle + 1,
            c.freed_host + host, c.freed_allocated + allocated, c.freed_reserved + reserved,
            c.objects + objects, c.seconds + seconds)

    # ---- results ----

    @property
    def counts(self):
        """A Count for each action, by its name in Cleanup()'s arguments."""
        return dict(self._counts)

    @property
    def seconds(self):
        """Seconds from the first step to the last, including the cleanups in between."""
        return self._last - self._since if self._since is not None else 0.0

    def useless(self):
        """The names of the actions that freed nothing for long enough."""
        return [name for name, c in self._counts.items()
                if c.idle >= max(ENOUGH, MOST * c.times) and not self._may_free_unseen(name)]

    def _may_free_unseen(self, name):
        """Memory freed by "gc" may go to the heap, where another action finds it."""
        if name == "gc" and self._counts[name].objects and not gc.isenabled():
            return True  # nobody else collects
        trimmed = self._counts.get("trim")
        return (name in ("gc", "zero_grad") and _mallinfo2 is None and trimmed is not None
                and trimmed.useful > 0)

    def suggestion(self):
        """One sentence of advice; None: nothing to change, or too little is known."""
        names = self.useless()
        if not names:
            return None
        all_of_them = len(names) == sum(c.times > 0 for c in self._counts.values())
        share = self._share(self.spent if all_of_them else
                            sum(self._counts[name].seconds for name in names))
        cost = f" by now, and took {share} of the time" if share else " by now"
        if all_of_them:
            return f"this cleanup frees nothing{cost}: drop it"
        settings = ", ".join(f"{name}=False" for name in names)
        verb = "frees" if len(names) == 1 else "free"
        return f"{' and '.join(names)} {verb} nothing{cost}: Cleanup({settings})"

    def summary(self):
        """What each action freed and cost, and what to drop, as text.

        >>> print(cleanup.summary())
        """
        share = self._share(self.spent)
        lines = [f"Cleanup: {self.cleanups:,} times in {self.steps:,} steps" +
                 (f", {share} of the time" if share else "")]
        lines += [self._line(name, c) for name, c in self._counts.items()]
        if self._failure:
            lines.append(f"  could not measure: {self._failure}")
        suggestion = self.suggestion()
        return "\n".join(lines + ([f"  {suggestion}"] if suggestion else []))

    def _line(self, name, c):
        if name in self._failures:
            return f"  {name:<12} left out: {self._failures[name]}"
        if not c.times and self._cannot(name):
            return f"  {name:<12} not done: {self._cannot(name)}"
        why = self._gradients.why_left_alone() if name == "zero_grad" and not c.useful else None
        if why:
            return f"  {name:<12} gradients left alone: {why}"
        found = f" ({c.objects:,} unreachable objects)" if c.objects else ""
        freed = [f"{_size(size)} {where}" for size, where in (
            (c.freed_host, "of the host's memory"), (c.freed_allocated, "of tensors on devices"),
            (c.freed_reserved, "of torch's pools")) if size]
        what = (f"freed {' and '.join(freed)} in {c.useful:,} of {c.times:,} times{found}" if freed
                else f"freed no memory in {c.times:,} times{found}")
        each = f", {_duration(c.seconds / c.times)} each" if c.times else ""
        share = self._share(c.seconds)
        return f"  {name:<12} {what}{each}" + (f", {share} of the time" if share else "")

    def _share(self, seconds):
        return f"{100 * seconds / self.seconds:.2g} %" if self.seconds > 0 else ""


# ---- arguments ----


def _error(kind, name, value, wanted):
    return kind(f"Cleanup() needs {name}= {wanted}, not {value!r:.60}")


def _whole_or_none(name, value):
    wanted = "a whole number of steps, 1 or more, or None"
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise _error(TypeError, name, value, wanted) from None
    if number < 1 or isinstance(value, bool):
        raise _error(ValueError, name, value, wanted)
    return number


def _yes_or_no(name, value):
    if value not in (True, False):
        raise _error(TypeError, name, value, "True or False")
    return bool(value)


def _safe_or_false(value):
    if value is False or value == "safe":
        return value
    raise _error(ValueError, "zero_grad", value, '"safe" or False')
