"""Shows that every expectation of the table can fail: judges answers made up for each case.

The answer that is right must pass; each of the ways to be wrong must be found.
"""

import copy

from cases import CASES, HOST, Leak, Result, judge, leaking_worker, the_leaking, total, trainer

LEAKING_PID, TRAINER_PID, WORKER_PID, OTHER_PID = 500, 100, 600, 999


def series(pid, role, kind, verdict, **more):
    process = {"role": role, "command": "bash wrapper_trainer_workers.sh"}
    if pid:
        process["pid"] = pid
    return {"process": process, "kind": kind, "verdict": verdict, "clock": "step", **more}


def leaking_series(leak):
    kind = leak.kinds[0] or "host.pss"
    kind += "used" if kind.endswith(".") else ""
    pid, role = {
        trainer: (TRAINER_PID, "trainer"),
        the_leaking: (LEAKING_PID, "helper"),
        leaking_worker: (LEAKING_PID, "data worker"),
        total: (0, "total"),
    }.get(leak.who, (0, "total"))
    return series(pid, role, kind, "leak")


def role_series(case, found):
    """As many processes of each role as there should be, beside those that leak."""
    for role, count in case.roles.items():
        have = {s["process"].get("pid") for s in found if s["process"]["role"] == role} - {None}
        first = TRAINER_PID if role == "trainer" else WORKER_PID + 20 * len(role)
        for i in range(count - len(have)):
            yield series(first + i, role, "host.anon", "no_leak")


def output(case):
    lines = ["truth: pid %d leaks" % LEAKING_PID]
    if "--every" in case.arguments:
        lines += ["trainer pid %d" % (TRAINER_PID + i) for i in range(3)]
    if case.step_line.startswith("^epoch"):
        return "\n".join(lines + ["epoch 1 step %d/200" % n for n in range(case.steps or 0)])
    if "/700" in case.step_line:
        return "\n".join(lines + ["\r%d/700 [" % n for n in range(case.steps or 0)])
    return "\n".join(lines + ["step %d" % n for n in range(case.steps or 0)])


def right(case):
    found = [leaking_series(leak) for leak in case.leaks]
    found += role_series(case, found)
    if "--every" in case.arguments:
        for i in range(3):
            found.append(
                series(
                    TRAINER_PID + i,
                    "trainer",
                    "host.anon",
                    "no_leak",
                    first_step=300 * i,
                    last_step=300 * i + 299,
                )
            )
    job = {"steps": case.steps, "epochs": 4.9}
    answer = {"verdict": case.verdicts[0], "job": job, "series": found}
    return Result(status=case.status, out=output(case), err="", answer=answer)


def rename(s, role, other):
    if s["process"]["role"] == role:
        s["process"]["role"] = other


def wrong(case):
    """(what is wrong, result)."""

    def mutant(what, change):
        result = copy.deepcopy(right(case))
        change(result)
        return what, result

    for verdict in {"leak", "no_leak", "inconclusive"} - set(case.verdicts):
        yield mutant("verdict " + verdict, lambda r: r.answer.update(verdict=verdict))
    yield mutant("exit status", lambda r: setattr(r, "status", 1))
    yield mutant("no answer", lambda r: setattr(r, "answer", None))
    for kind in (*HOST, "host.file", "fds"):
        extra = series(OTHER_PID, "data worker", kind, "leak")
        yield mutant("another process leaks " + kind, lambda r: r.answer["series"].append(extra))
    if case.verdicts != ("leak",):
        for pid, role in ((TRAINER_PID, "trainer"), (0, "total")):
            extra = series(pid, role, "host.file", "leak")
            yield mutant("%s leaks" % role, lambda r: r.answer["series"].append(extra))
    yield from wrong_leaks(case, mutant)
    if case.roles or case.checks:
        yield mutant("an empty answer", lambda r: r.answer.update(series=[], job={}))
    for role in case.roles:
        yield mutant("role " + role, lambda r: [rename(s, role, "unknown") for s in r.series()])
    if case.steps:
        yield mutant("lost output", lambda r: setattr(r, "out", r.out[: len(r.out) // 2]))
        if "--every" not in case.arguments or "--resume" in case.arguments:
            yield mutant("steps not counted", lambda r: r.answer["job"].pop("steps"))
    if "--every" in case.arguments:
        yield mutant("spliced", lambda r: r.answer["series"][-1].update(first_step=0))


def wrong_leaks(case, mutant):
    if not case.leaks:
        return
    yield mutant("leak not found", lambda r: [s.update(verdict="no_leak") for s in r.series()])
    if case.leaks[0].who in (trainer, the_leaking, leaking_worker):
        yield mutant(
            "wrong process",
            lambda r: [s["process"].update(pid=OTHER_PID, role="helper") for s in r.leaking()],
        )
    if case.leaks[0].kinds != ("",):
        yield mutant("wrong kind", lambda r: [s.update(kind="host.file") for s in r.leaking()])


def main():
    assert all(isinstance(leak, Leak) for case in CASES for leak in (*case.leaks, *case.may))
    names = [case.name for case in CASES]
    passed = failed = 0
    for case in CASES:
        outcomes = [("right", judge(case, right(case)) == [])]
        outcomes += [(what, judge(case, result) != []) for what, result in wrong(case)]
        for what, good in outcomes:
            passed += good
            failed += not good
            if not good:
                print("FAIL  %s: %s: %s" % (case.name, what, judge(case, right(case))))
    for name in {n for n in names if names.count(n) > 1}:
        print("FAIL  two cases are called %s" % name)
        failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0
