"""The table of programs and what tidemark must say of them, and the judge of what it said."""

import dataclasses
import re
import typing

# Growth of private memory shows in the first two; in the others it may.
OWN = ("host.anon", "host.private")
HOST = (*OWN, "host.rss", "host.vsize", "host.pss", "host.swap")
ANY = ("",)

NO_LEAK = ("no_leak",)
LEAK = ("leak",)
UNDECIDED = ("inconclusive",)
NOT_LEAK = ("no_leak", "inconclusive")


# ---- what tidemark said ----


@dataclasses.dataclass
class Result:
    status: object
    out: str
    err: str
    answer: typing.Optional[dict]

    def series(self):
        return self.answer.get("series", [])

    def leaking(self):
        return [s for s in self.series() if s.get("verdict") == "leak"]

    def roles(self):
        """The processes of each role."""
        found = {}
        for s in self.series():
            process = s.get("process", {})
            if "pid" in process:
                found.setdefault(process.get("role"), set()).add(process["pid"])
        return found

    def said_pids(self, pattern):
        """What the program itself said on its standard output."""
        return [int(n) for n in re.findall(pattern, self.out, re.M)]


# ---- which series is meant ----


def trainer(series, _result):
    process = series.get("process", {})
    return "pid" in process and process.get("role") == "trainer"


def the_leaking(series, result):
    """The process that the program itself says is leaking."""
    said = result.said_pids(r"^truth: pid (\d+) leaks$")
    return bool(said) and series.get("process", {}).get("pid") == said[0]


def leaking_worker(series, result):
    """The same, and it is called a data worker."""
    return the_leaking(series, result) and series["process"].get("role") == "data worker"


def total(series, _result):
    """Of no single process: the tree's, the cgroup's, the machine's."""
    return "pid" not in series.get("process", {})


def anybody(_series, _result):
    return True


def fits(wanted, kind):
    whole = wanted and not wanted.endswith(".")
    return kind == wanted if whole else kind.startswith(wanted)


class Leak(typing.NamedTuple):
    """Series: kind (or its beginning, where it ends with a dot; "" is any) and whose."""

    kinds: tuple
    who: typing.Callable

    def covers(self, series, result):
        kind = series.get("kind", "")
        return any(fits(k, kind) for k in self.kinds) and self.who(series, result)


TOTALS = Leak(ANY, total)


# ---- the table ----


@dataclasses.dataclass
class Case:
    """One run. `leaks`: each is found leaking; beside them only `may` may leak."""

    program: str
    arguments: list
    verdicts: tuple
    leaks: tuple = ()
    may: tuple = ()
    roles: dict = dataclasses.field(default_factory=dict)  # role: so many processes
    steps: typing.Optional[int] = None  # so many are made, and counted by tidemark
    step_line: str = r"^step \d+$"
    checks: tuple = ()  # (case, result) -> problems
    status: int = 0
    mode: str = "run"
    options: tuple = ()
    alone: bool = False  # what it does to the machine would be seen by another
    label: str = ""

    @property
    def name(self):
        """The command without its timing, or the label."""
        words, hidden = [], False
        for word in self.arguments:
            timing = word in ("--steps", "--step-ms")
            if not hidden and not timing:
                words.append(word)
            hidden = timing
        return " ".join([self.mode, *([self.label] if self.label else [self.program, *words])])


def leak_of(who):
    """The arguments of a case in which private memory of one process leaks."""
    return {"leaks": (Leak(OWN, who),), "may": (Leak(HOST, who), TOTALS)}


def case(program, verdicts, arguments="", steps=700, step_ms=5, **more):
    """steps=None: they are not counted, and --step-ms is among the arguments."""
    timing = "" if steps is None else "--steps %d --step-ms %d " % (steps, step_ms)
    return Case(program, (timing + arguments).split(), verdicts, steps=steps, **more)


# ---- checks of single cases ----


def epochs_are_counted(least):
    def check(_case, result):
        found = result.answer.get("job", {}).get("epochs")
        if found is None or not least <= found <= least + 1:
            yield "job.epochs is %s, not about %d" % (found, least)

    return check


def wrapper_is_the_script(_case, result):
    commands = [
        s["process"].get("command", "")
        for s in result.series()
        if s.get("process", {}).get("role") == "wrapper"
    ]
    if not any("wrapper_trainer_workers.sh" in c for c in commands):
        yield "the wrapper is not the script: %s" % sorted(set(commands))


def trainers_are_not_spliced(_case, result):
    """Each trainer is a process of its own, and no series is longer than its life."""
    trainers = result.said_pids(r"^trainer pid (\d+)$")
    every = len(re.findall(r"^step \d+$", result.out, re.M)) / max(1, len(trainers))
    seen = set()
    for s in result.series():
        pid = s.get("process", {}).get("pid")
        if pid not in trainers:
            continue
        seen.add(pid)
        if (
            s.get("clock") == "step"
            and s.get("last_step", 0) - s.get("first_step", 0) > 1.1 * every
        ):
            yield "%s of trainer %d goes from step %s to %s" % (
                s.get("kind"),
                pid,
                s.get("first_step"),
                s.get("last_step"),
            )
    if len(seen) < 2:
        yield "of %d trainers %d have a series" % (len(trainers), len(seen))


EPOCH_LINE = r"^epoch \d+ step \d+/\d+"
BAR = r"\d+/700 \["

ALONE = {"trainer": 1}
FOUR = {"trainer": 1, "data worker": 4}
EIGHT = {"trainer": 1, "data worker": 8}
WRAPPED = {"wrapper": 1, "trainer": 1, "data worker": 3}

EPOCHS = {"steps": 1000, "step_ms": 4, "step_line": EPOCH_LINE}
SMALL_TREE = "--step-ms 5 --total-mb 512 --shared-mb 128 --seconds 4"
WATCH = {"steps": None, "mode": "watch", "options": ("--horizon", "1.5", "--duration", "7")}
SHARED = Leak(("host.shmem", "shm.", "tmpfs.", "system.shmem"), anybody)
RESTART = {"steps": 900, "checks": (trainers_are_not_spliced,)}
SCRIPT = {"roles": WRAPPED, "checks": (wrapper_is_the_script,)}

CASES = [
    # What leaks, and where.
    case("leak_heap", LEAK, roles=ALONE, **leak_of(trainer)),
    case("leak_heap", LEAK, "--kb 8", **leak_of(trainer)),
    case("leak_heap", NO_LEAK, "--fix", roles=ALONE),
    case("leak_heap", UNDECIDED, steps=100, label="leak_heap, too short"),
    case("leak_one_of_eight", LEAK, roles=EIGHT, **leak_of(leaking_worker)),
    case("leak_one_of_eight", NO_LEAK, "--fix", roles=EIGHT),
    case("leak_shm", LEAK, leaks=(SHARED,), may=(TOTALS,), alone=True),
    case("leak_shm", NO_LEAK, "--fix", alone=True),
    case("leak_fds", LEAK, leaks=(Leak(("fds",), trainer),), may=(Leak(("fds",), total),)),
    case("leak_fds", NO_LEAK, "--fix"),
    case(
        "leak_threads",
        LEAK,
        leaks=(Leak(("threads",), trainer),),
        may=(Leak(HOST, trainer), TOTALS),
    ),
    case("leak_threads", NO_LEAK, "--fix"),
    case("leak_growing_children", LEAK, leaks=(TOTALS,)),
    case("leak_growing_children", NO_LEAK, "--fix"),
    case("double_fork", LEAK, **leak_of(the_leaking)),
    case("double_fork", NO_LEAK, "--fix"),
    case("wrapper_trainer_workers.sh", LEAK, **SCRIPT, **leak_of(trainer)),
    case("wrapper_trainer_workers.sh", NO_LEAK, "--fix", **SCRIPT),
    case(
        "oom",
        LEAK,
        "--kb 256 --max-mb 192 --step-ms 5",
        steps=None,
        status=-9,
        **leak_of(trainer),
    ),
    # What grows and is no leak.
    case("cow_workers.py", NOT_LEAK, roles=FOUR),
    case("cow_workers.py", NOT_LEAK, "--read-by 0.5", roles=FOUR),
    case("cow_workers.py", NO_LEAK, "--fix", roles=FOUR),
    case("page_cache", NO_LEAK),
    case("page_cache", NO_LEAK, "--read-steps 350"),
    case("page_cache", NO_LEAK, "--fix"),
    case("spikes", NO_LEAK),
    case("spikes", LEAK, "--leak-kb 64", **leak_of(trainer)),
    case("retention", NO_LEAK, "--ramp 120"),
    case("cache_fill.py", NO_LEAK, checks=(epochs_are_counted(4),), **EPOCHS),
    case("cache_fill.py", LEAK, "--leak", **EPOCHS, **leak_of(trainer)),
    case("warmup_spikes.py", NO_LEAK, **EPOCHS),
    case("warmup_spikes.py", LEAK, "--leak", **EPOCHS, **leak_of(trainer)),
    case("children_short", NO_LEAK, steps=1200, step_ms=0),
    case("many", NO_LEAK, "--processes 150"),
    case("tree", NO_LEAK, SMALL_TREE, steps=None),
    case("cpu_step", NO_LEAK, steps=3000, step_ms=0),
    case("restart.py", NOT_LEAK, "--every 300", **RESTART),
    case("restart.py", NOT_LEAK, "--every 300 --resume", **RESTART),
    # Steps are told from inside; what is printed are other numbers.
    case("told_census", LEAK, roles=ALONE, **leak_of(trainer)),
    case("told_census", NO_LEAK, "--fix", roles=ALONE),
    case("told_steps", LEAK, "--kb 64", roles=ALONE, **leak_of(trainer)),
    case("told_steps", LEAK, "--block 512", leaks=(Leak(("torch.allocated",), trainer),)),
    case("told_steps", NO_LEAK, "--kb 64 --block 512 --fix", roles=ALONE),
    # A bar with carriage returns is the clock.
    case("tqdm_like.py", LEAK, "--leak", step_line=BAR, **leak_of(trainer)),
    case("tqdm_like.py", NO_LEAK, step_line=BAR),
    # A program that runs already: no output, so no steps; the horizon is in seconds.
    case("leak_heap", LEAK, "--steps 1600 --step-ms 5", **WATCH, **leak_of(trainer)),
    case("leak_heap", NO_LEAK, "--steps 1600 --step-ms 5 --fix", **WATCH),
]


# ---- the judge ----


def judge_steps(case, result):
    """All that the program printed has come through, and was counted."""
    printed = len(re.findall(case.step_line, result.out + result.err, re.M))
    if printed != case.steps:
        yield "%d steps were printed, not %d" % (printed, case.steps)
    counted = result.answer.get("job", {}).get("steps")
    least = 0.9 * case.steps
    if "--every" in case.arguments and "--resume" not in case.arguments:
        return  # the count begins anew with each trainer
    if counted is None or not least <= counted <= case.steps:
        yield "job.steps is %s, not about %d" % (counted, case.steps)


def judge_leaks(case, result):
    for leak in case.leaks:
        if not any(leak.covers(s, result) for s in result.leaking()):
            kinds = " or ".join(leak.kinds) or "anything"
            yield "no leak of %s of %s" % (kinds, leak.who.__name__)
    for s in result.leaking():
        if not any(leak.covers(s, result) for leak in (*case.leaks, *case.may)):
            process = s.get("process", {})
            yield "must not leak: %s of %s %s" % (
                s.get("kind"),
                process.get("role", "the tree"),
                process.get("pid", ""),
            )


def judge(case, result):
    """The problems, as sentences; none: as it should be."""
    problems = []
    if result.status != case.status:
        problems.append("exit status %s, not %s" % (result.status, case.status))
    if result.answer is None:
        return [*problems, "no answer was written"]
    verdict = result.answer.get("verdict")
    if verdict not in case.verdicts:
        problems.append("verdict %s, not %s" % (verdict, " or ".join(case.verdicts)))
    problems += judge_leaks(case, result)
    roles = result.roles()
    for role, count in case.roles.items():
        if len(roles.get(role, ())) != count:
            problems.append("%d of role %s, not %d" % (len(roles.get(role, ())), role, count))
    if case.steps is not None:
        problems += judge_steps(case, result)
    for check in case.checks:
        problems += check(case, result)
    return problems
