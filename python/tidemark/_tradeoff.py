"""tidemark.tradeoff(): measures what cleanup and other settings change in the user's own step."""

import gc
import inspect
import json
import math
import operator
import os
import random
import statistics
import time
import typing

from tidemark import _student
from tidemark._cleanup import NOISE_PAGES, Cleanup, _cuda, _malloc_trim, _size

PAGE = os.sysconf("SC_PAGE_SIZE")
LONGEST_BLOCK = 10  # times the requested steps, so that every interval divides the block
WARM_SHARE = 10  # one in this many steps of a block is a warm-up, which is not measured
LEAST_WARM = 3  # steps until Cleanup knows how the loop clears its gradients

REAL, NOISE, TOO_FEW = "real", "within noise", "not enough repeats"


class Setting(typing.NamedTuple):
    """A setting to try. None: unchanged."""

    every: typing.Optional[int] = None
    set_to_none: typing.Optional[bool] = None
    workers: typing.Optional[int] = None

    def __str__(self):
        parts = [f"every {self.every}"] if self.every is not None else []
        if self.set_to_none is not None:
            parts.append(f"set_to_none {'yes' if self.set_to_none else 'no'}")
        if self.workers is not None:
            parts.append(f"{self.workers} worker{'' if self.workers == 1 else 's'}")
        return ", ".join(parts) or "as it is"


class Cell(typing.NamedTuple):
    """One measure of one setting, over all rounds. None: unknown."""

    median: typing.Optional[float] = None
    low: typing.Optional[float] = None
    high: typing.Optional[float] = None
    difference: typing.Optional[float] = None  # to the first row, mean of the rounds
    finding: typing.Optional[str] = None  # "real", "within noise", "not enough repeats"


class Row(typing.NamedTuple):
    setting: Setting
    host_floor: Cell  # bytes
    host_peak: Cell
    device_floor: Cell
    device_peak: Cell
    step_seconds: Cell


BASELINE = Setting()
MEASURES = Row._fields[1:]
TITLES = {"host_floor": "host floor", "host_peak": "host peak", "device_floor": "device floor",
          "device_peak": "device peak", "step_seconds": "step time"}


class Tradeoff:
    """The result of tradeoff(): .rows, str() for the table, .json() for everything."""

    def __init__(self, rows, steps, repeat, comparisons):
        self.rows, self.steps, self.repeat, self.comparisons = rows, steps, repeat, comparisons

    def __str__(self):
        return _table(self)

    def json(self):
        """As text: the settings, and for each measure median, low, high, difference, finding."""
        rows = [{"setting": row.setting._asdict(),
                 **{name: getattr(row, name)._asdict() for name in MEASURES
                    if getattr(row, name).median is not None}} for row in self.rows]
        return json.dumps({"steps": self.steps, "repeat": self.repeat,
                           "comparisons": self.comparisons, "chance": _student.CHANCE,
                           "rows": rows})


def tradeoff(step, every=(1, 5, 10, 20, None), set_to_none=(), workers=(), *, steps=40, repeat=5,
             seed=0):
    """Tries cleanup and other settings on your own training step, and measures what each changes.

    >>> print(tidemark.tradeoff(lambda: train_step(next(batches))))

    step: makes one training step. every: intervals of Cleanup to try; None means no cleanup, which
    is always tried, as the baseline. set_to_none: values for step(set_to_none=...). workers: for
    each block and value, step(workers=...) is called once and returns the function that makes one
    step with such a loader. Without these arguments, step does what it does today. steps, repeat:
    steps per block, blocks per setting; the blocks of all settings alternate, in an order shuffled
    by seed. The training continues through all of them: use a copy of the model, or restart
    afterwards.
    """
    if not callable(step):
        raise TypeError(f"tradeoff() needs step= a function that makes one step, not {step!r:.60}")
    every = [e for e in _values("every", every, _interval) if e is not None]
    set_to_none = _values("set_to_none", set_to_none, _flag)
    workers = _values("workers", workers, lambda value: _whole("workers", value, 0))
    steps = _block_steps(_whole("steps", steps, 1), every)
    repeat = _whole("repeat", repeat, 1)
    if workers:
        _check_takes(step, "workers")
    elif set_to_none:
        _check_takes(step, "set_to_none")
    alone = ([Setting(every=e) for e in every] + [Setting(set_to_none=s) for s in set_to_none]
             + [Setting(workers=w) for w in workers])
    trial = _Trial(step, steps, has_workers=bool(workers))
    trial.run([BASELINE, *alone], repeat, random.Random(seed))
    best = _combined(_compare(trial.rounds)[0])
    if best is not None:
        trial.run([BASELINE, best], repeat, random.Random(seed + 1))
    rows, comparisons = _compare(trial.rounds)
    return Tradeoff(rows, steps, repeat, comparisons)


# ---- memory ----


class _Memory:
    """Floor and peak of a block: of this process, of its children if any, and of all devices
    together. None: unknown."""

    def __init__(self, with_children):
        self._with_children = with_children
        cuda = _cuda()
        self._devices = range(cuda.device_count()) if cuda else ()
        self._host_floor = self._device_floor = math.inf
        self._has_peak = _reset_peak()
        for i in self._devices:
            cuda.reset_peak_memory_stats(i)

    def look(self):
        """Samples the memory after a step."""
        self._host_floor = min(self._host_floor, _resident_bytes())
        if self._devices:
            allocated = _cuda().memory_allocated
            self._device_floor = min(self._device_floor, sum(map(allocated, self._devices)))

    def end(self):
        """(host floor, host peak, device floor, device peak)."""
        peak = _peak_bytes() if self._has_peak else None
        others = _share_of_children() if self._with_children else 0
        if not self._devices:
            return self._host_floor + others, peak and peak + others, None, None
        device_peak = sum(map(_cuda().max_memory_allocated, self._devices))
        return self._host_floor + others, peak and peak + others, self._device_floor, device_peak


def _resident_bytes():
    with open("/proc/self/statm", "rb") as f:
        return int(f.read().split()[1]) * PAGE


def _reset_peak():
    """False: the kernel forbids it."""
    try:
        with open("/proc/self/clear_refs", "wb") as f:
            f.write(b"5")
    except OSError:
        return False
    return True


def _kilobytes(path, key):
    with open(path, "rb") as f:
        for line in f:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise OSError(f"{path} has no {key.decode()}")


def _peak_bytes():
    return _kilobytes("/proc/self/status", b"VmHWM:")


def _descendants(pid):
    """The children; none for a process that has just ended."""
    try:
        children = [int(child) for task in os.listdir(f"/proc/{pid}/task")
                    for child in _read(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        return
    for child in children:
        yield child
        yield from _descendants(child)


def _read(path):
    with open(path, "rb") as f:
        return f.read()


def _share_of_children():
    """Memory of the processes beyond this one's resident pages; shared pages count once."""
    together = 0
    for pid in (os.getpid(), *_descendants(os.getpid())):
        try:
            together += _kilobytes(f"/proc/{pid}/smaps_rollup", b"Pss:")
        except OSError:  # it has just ended
            pass
    return together - _resident_bytes()


# ---- blocks ----


def _settle():
    """Frees what the last block left behind, before the next one."""
    gc.collect()
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()
        cuda.empty_cache()
    if _malloc_trim is not None:
        _malloc_trim(0)


class _Trial:
    """Runs the step in blocks. rounds: one dict per round, with each setting's values."""

    def __init__(self, step, steps, has_workers):
        self._step, self._steps, self._has_workers = step, steps, has_workers
        self.rounds = []

    def run(self, settings, repeat, rng):
        self._block(BASELINE)  # the first steps do extra work, which does not count
        for _ in range(repeat):
            order = rng.sample(settings, len(settings))
            self.rounds.append({setting: self._block(setting) for setting in order})

    def _step_of(self, setting):
        """Returns the function that makes one step."""
        step = self._step
        if self._has_workers:
            step = step() if setting.workers is None else step(workers=setting.workers)
            if not callable(step):
                raise TypeError("tradeoff() with workers= calls step(workers=...) once per block: it "
                                f"must return the function that makes one step, not {step!r:.60}")
        if setting.set_to_none is None:
            return step
        _check_takes(step, "set_to_none")
        return lambda: step(set_to_none=setting.set_to_none)

    def _block(self, setting):
        """The values of MEASURES."""
        _settle()
        step = self._step_of(setting)
        if setting.every is None:
            return self._measure(step, lambda: None)
        with Cleanup(every=setting.every) as cleanup:
            return self._measure(step, cleanup.step)

    def _measure(self, step, clean):
        for _ in range(max(LEAST_WARM, self._steps // WARM_SHARE)):
            step()
            clean()
        memory, seconds = _Memory(self._has_workers), 0.0
        for _ in range(self._steps):
            begin = time.perf_counter()
            step()
            clean()
            seconds += time.perf_counter() - begin
            memory.look()
        begin = time.perf_counter()
        cuda = _cuda()
        if cuda is not None:
            cuda.synchronize()
        seconds += time.perf_counter() - begin
        return (*memory.end(), seconds / self._steps)


# ---- comparing ----


def _pairs(rounds, setting, measure):
    """(with the setting, baseline), round by round."""
    pairs = ((r[setting][measure], r[BASELINE][measure]) for r in rounds if setting in r)
    return [pair for pair in pairs if None not in pair]


def _differences(measure, pairs):
    """Differences of resident pages are only approximate. Times differ by a factor, because a busy
    machine lengthens all of them."""
    if MEASURES[measure] == "step_seconds":
        tick = 1e-9  # the clock's resolution, so that a step of no time is not an error
        return [math.log((value + tick) / (base + tick)) for value, base in pairs]
    noise = NOISE_PAGES * PAGE if MEASURES[measure].startswith("host") else 0
    return [0 if abs(value - base) <= noise else value - base for value, base in pairs]


def _compare(rounds):
    """(a Row per setting, number of comparisons)."""
    settings = list(dict.fromkeys(s for r in rounds for s in sorted(r, key=_order)))
    others = [s for s in settings if s != BASELINE]
    real, comparisons = {}, 0
    for family in _families():
        keys = [(s, m) for m in family for s in others]
        tests = [test for m in family for test in _student.tests_of(
            [_differences(m, _pairs(rounds, s, m)) for s in others])]
        real.update(zip(keys, _student.real_ones(tests)))
        comparisons += sum(test is not None for test in tests)
    rows = [Row(s, *(_cell(rounds, s, m, real.get((s, m))) for m in range(len(MEASURES))))
            for s in settings]
    return rows, comparisons


def _families():
    """Measures that are tested together: memory, time."""
    time_is = MEASURES.index("step_seconds")
    return [[m for m in range(len(MEASURES)) if m != time_is], [time_is]]


def _order(setting):
    """The baseline first, then sorted by what is changed and how."""
    said = [value is not None for value in setting]
    return sum(said), [not s for s in said], [-1 if v is None else v for v in setting]


def _cell(rounds, setting, measure, is_real):
    values = [r[setting][measure] for r in rounds if setting in r]
    if any(v is None for v in values):
        return Cell()
    seen = statistics.median(values), min(values), max(values)
    if setting == BASELINE:
        return Cell(*seen)
    differences = [value - base for value, base in _pairs(rounds, setting, measure)]
    enough = len(differences) >= _student.LEAST_PAIRS
    return Cell(*seen, statistics.median(differences),
                TOO_FEW if not enough else REAL if is_real else NOISE)


def _saving(row):
    """Bytes saved, counting real differences only."""
    return -sum(c.difference for c in row[1:-1] if c.finding == REAL)


def _gain(row):
    """The key for choosing: memory first, then time."""
    time_cell = row.step_seconds
    return _saving(row), -time_cell.difference if time_cell.finding == REAL else 0.0


def _best_of(rows, dimension):
    """None: nothing in this dimension is better than the baseline."""
    mine = [r for r in rows if getattr(r.setting, dimension) is not None]
    best = max(mine, key=_gain, default=None)
    if best is None or _gain(best) <= (0, 0.0):
        return None
    near = [r for r in mine if _saving(r) >= 0.9 * _saving(best)]  # nearly the best: take the fastest
    return getattr(min(near, key=lambda r: r.step_seconds.median).setting, dimension)


def _combined(rows):
    """The best of each dimension, combined; None: fewer than two."""
    best = Setting(*(_best_of(rows, dimension) for dimension in Setting._fields))
    return best if sum(v is not None for v in best) > 1 else None


# ---- the table ----


def _seconds(value):
    return f"{value:.3f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _shown(measure, value):
    return _seconds(value) if measure == "step_seconds" else _size(value)


def _change(measure, cell):
    if cell.finding is None:
        return ""
    if cell.finding != REAL:
        return "noise" if cell.finding == NOISE else "?"
    sign = "-" if cell.difference < 0 else "+"
    return sign + _shown(measure, abs(cell.difference))


def _columns(rows):
    """Yields the columns of the table as texts, each with its title first."""
    yield ["setting", *(str(row.setting) for row in rows)]
    for name in MEASURES:
        cells = [getattr(row, name) for row in rows]
        if all(c.median is None for c in cells):
            continue
        yield [TITLES[name], *(_shown(name, c.median) for c in cells)]
        yield ["change", *(_change(name, c) for c in cells)]
    cells = [row.step_seconds for row in rows]
    yield ["spread", *(f"{_seconds(c.low)} to {_seconds(c.high)}" for c in cells)]


def _table(found):
    columns = list(_columns(found.rows))
    widths = [max(map(len, column)) for column in columns]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip()
             for line in zip(*columns)]
    few = found.repeat < _student.LEAST_PAIRS
    why = (f"?: {found.repeat} rounds are too few to know what is real; at least "
           f"{_student.LEAST_PAIRS} are required" if few else
           "change: from the first row, where it is real; noise: chance explains it "
           f"(Student's t over {found.repeat} rounds, Holm over {found.comparisons} comparisons, "
           f"{_student.CHANCE:.0%})")
    head = f"{found.repeat} rounds of {found.steps} steps with each setting"
    return "\n".join([head, *lines, why])


# ---- arguments ----


def _error(kind, name, value, wanted):
    return kind(f"tradeoff() needs {name}= {wanted}, not {value!r:.60}")


def _whole(name, value, least):
    wanted = f"whole numbers, {least} or more"
    try:
        number = operator.index(value)
    except TypeError:
        raise _error(TypeError, name, value, wanted) from None
    if number < least or isinstance(value, bool):
        raise _error(ValueError, name, value, wanted)
    return number


def _interval(value):
    return None if value is None else _whole("every", value, 1)


def _flag(value):
    if value not in (True, False):
        raise _error(TypeError, "set_to_none", value, "values True and False")
    return bool(value)


def _values(name, values, read):
    """The values without repetitions, in the given order."""
    try:
        return list(dict.fromkeys(read(value) for value in values))
    except TypeError:
        if hasattr(values, "__iter__"):
            raise
        raise _error(TypeError, name, values, "a list of values") from None


def _check_takes(step, name):
    try:
        parameters = inspect.signature(step).parameters
    except (TypeError, ValueError):
        return  # unknown: the call will show
    kinds = (p.kind for p in parameters.values())
    if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(f"tradeoff() was given {name}=, but step does not accept it: write "
                        f"def step({name}=...)")


def _block_steps(steps, every):
    """A number that every interval divides, so that each block has its share of cleanups."""
    common = math.lcm(*every)
    whole = -(-steps // common) * common
    return whole if whole <= LONGEST_BLOCK * steps else steps
