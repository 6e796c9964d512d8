#!/usr/bin/env python3
"""Labelled synthetic corpus of process-memory time series (stdlib only, deterministic).

  python3 gen_corpus.py --per 6 --seed 1 -o corpus.jsonl      # 6 series per family and difficulty
  python3 gen_corpus.py --list                                # families and labels

One JSON object per line:
  id, family, difficulty (easy|medium|hard), label (leak|no_leak|inconclusive),
  shape   finer class: leak | flat | warmup | spikes | level_shift | decreasing | log | short |
          ambiguous
  kind    what counter it imitates (rss, torch_alloc, torch_reserved, nvml, log_rounded)
  unit    "step" or "s";   t  sample positions in that unit;   v  MB (null = sample missing)
  epoch_len   steps per epoch, or null when the monitor does not know it
  horizon     longest benign ramp the monitor has to allow for (>= 1 epoch; >= 150 steps or 900 s)
  restarts    positions of process restarts the monitor was told about (may be [])
  rate        true leak rate in MB per unit at the end of the series (0 if none)
  onset       position where the leak starts (null if none)
  limit_mb    capacity;  eta  true units to out-of-memory at the end (null if none)
  noise_mb    sigma of the observation noise;  snr  leak growth / sigma (null if no leak)
  group       id shared by series of one process tree (null if single)

Conventions that make the labels decidable (a detector may rely on them):
  * every benign straight ramp (warm-up, second phase, per-epoch ramp, GC period) lasts <= horizon;
    longer benign growth always decelerates (saturating, logarithmic, record-breaking staircase);
  * every leak series goes on for >= 2.2 horizons after its onset;
  * 'inconclusive' series carry too little evidence to exclude either answer.
"""

import argparse
import json
import math
import random
import sys

PAGE = 4096 / 2**20  # MB
BLK = 512 / 2**20  # torch caching allocator block
NV = 2.0  # NVML / driver granularity, MiB
LEVELS = ("easy", "medium", "hard")


class Ctx:
    """Random draw of everything that is not the behaviour itself."""

    def __init__(self, rng, d, tm=None, unit=None, know_epoch=None):
        self.r, self.d = rng, d
        self.unit = unit or ("s" if rng.random() < 0.15 else "step")
        e = int(math.exp(rng.uniform(math.log(40), math.log(300))))
        know = rng.random() < 0.75 if know_epoch is None else know_epoch
        if self.unit == "s":
            self.E, self.h = None, 900
        else:
            self.E, self.h = (e if know else None), (max(150, e) if know else 150)
        self.e = self.E or min(e, self.h)
        lo, hi = ((10, 24), (7, 13), (5.2, 8))[d]
        self.T = self.h * (tm if tm else rng.uniform(lo, hi))
        ok = [s for s in (1, 2, 5, 10, 20, 50) if 110 <= self.T / s <= 2200 and self.h / s >= 6]
        self.s = rng.choice(ok or [max(1, int(self.T / 1000))])
        n = int(self.T / self.s)
        self.t = [self.s * (i + 1) for i in range(n)]
        self.T = self.t[-1]
        self.B = math.exp(rng.uniform(math.log(60), math.log(40000)))
        self.sig = self.B * math.exp(rng.uniform(math.log(2e-4), math.log(6e-3)))
        self.kind, self.q = "rss", PAGE
        self.restarts, self.drop = [], set()
        self.rate, self.onset, self.level_end = 0.0, None, None

    def u(self, a, b):
        return self.r.uniform(a, b)

    def pick(self, *xs):  # by difficulty
        return xs[self.d]

    def growth(self):  # leak growth over its lifetime, in sigmas
        return self.u(*self.pick((30, 120), (10, 30), (4, 10)))

    def white(self, k=1.0):
        g = self.r.gauss
        return [k * self.sig * g(0, 1) for _ in self.t]

    def ar(self, phi, k=1.0):
        x, c, out, g = 0.0, math.sqrt(1 - phi * phi), [], self.r.gauss
        x = g(0, 1)
        for _ in self.t:
            x = phi * x + c * g(0, 1)
            out.append(k * self.sig * x)
        return out

    def leak(self, onset, total=None, rate=None):
        dur = self.T - onset
        self.onset = onset
        self.rate = (
            rate
            if rate is not None
            else (total if total is not None else self.growth() * self.sig) / dur
        )
        return [self.rate * max(0.0, x - onset) for x in self.t]

    def ramp(self, a, b, height):  # 0 before a, height after b, linear between
        return [height * min(1.0, max(0.0, (x - a) / max(1e-9, b - a))) for x in self.t]

    def late(self):
        hi = self.T - 2.2 * self.h
        return self.u(
            0.25 * self.T, max(0.26 * self.T, min(self.pick(0.5, 0.65, 0.8) * self.T, hi))
        )

    def spikes(self, amp=None):
        p = self.u(0.15, 0.9) * self.h
        w = max(self.s * 1.01, self.u(0.04, 0.2) * p)
        amp = amp or self.B * self.u(0.15, 0.9)
        ph, out = self.u(0, p), []
        for x in self.t:
            k = math.floor((x + ph) / p)
            inside = ((x + ph) - k * p) < w
            out.append(amp * self.u(0.7, 1.0) if inside else 0.0)
        return out

    def saw(self, amp=None, period=None):
        p = period or self.u(0.06, 0.8) * self.h
        amp = amp or self.B * self.u(0.08, 0.5)
        ph = self.u(0, p)
        pos, out, nxt = 0.0, [], p
        for x in self.t:
            while x + ph - pos > nxt:
                pos += nxt
                nxt = p * self.u(0.8, 1.0)
            out.append(amp * (x + ph - pos) / p)
        return out


def add(*xs):
    return [sum(c) for c in zip(*xs)]


FAM = {}


def fam(name, label, shape):
    def deco(f):
        FAM[name] = (label, shape, f)
        return f

    return deco


# ------------------------------------------------------------------ no leak
@fam("flat_exact", "no_leak", "flat")
def _(c):
    c.kind, c.q, c.sig = "torch_alloc", BLK, 0.0
    return [c.B] * len(c.t)


@fam("flat_white", "no_leak", "flat")
def _(c):
    return add([c.B] * len(c.t), c.white())


@fam("flat_ar1", "no_leak", "flat")
def _(c):
    return add([c.B] * len(c.t), c.ar(c.pick(0.5, 0.85, 0.97)))


@fam("flat_wander_ou", "no_leak", "flat")  # slow mean-reverting fragmentation
def _(c):
    tau = c.u(0.1, 0.35) * c.h / c.s
    return add([c.B] * len(c.t), c.ar(math.exp(-1 / max(2, tau)), 3), c.white(0.5))


@fam("flat_heavy_tail", "no_leak", "flat")
def _(c):
    out = []
    for _x in c.t:
        z = c.r.gauss(0, 1) / math.sqrt(
            max(1e-3, c.r.gammavariate(1.5, 1 / 1.5))
        )  # Student t, 3 dof
        out.append(c.B + c.sig * z)
    return out


@fam("flat_noise_grows", "no_leak", "flat")  # variance rises, mean does not
def _(c):
    w = c.white()
    return [c.B + e * (1 + 3 * x / c.T) for e, x in zip(w, c.t)]


@fam("flat_nvml_flicker", "no_leak", "flat")
def _(c):
    c.kind, c.q = "nvml", NV
    c.sig = NV * c.u(0.2, 0.8)
    return add([c.B] * len(c.t), c.ar(0.7))


@fam("flat_two_levels", "no_leak", "flat")  # toggles between two levels
def _(c):
    a, out, hi = c.B * c.u(0.2, 0.8), [], False
    nxt = c.u(0.2, 1.0) * c.h
    for x in c.t:
        if x > nxt:
            hi = not hi
            nxt = x + c.u(0.2, 1.0) * c.h
        out.append(c.B + (a if hi else 0))
    return add(out, c.white(0.3))


@fam("diurnal", "no_leak", "flat")
def _(c):
    p = c.u(0.6, 1.0) * c.h * 1.9  # rising half <= horizon
    a, ph = c.sig * c.u(5, 40), c.u(0, 6.28)
    return add([c.B + a * math.sin(6.2831853 * x / p + ph) for x in c.t], c.white())


@fam("warmup_linear_hard", "no_leak", "warmup")  # the seeds: straight line, then a hard stop
def _(c):
    w = c.u(0.4, 1.0) * (c.e if c.E else c.h)
    return add([c.B] * len(c.t), c.ramp(0, w, c.B * c.u(0.5, 3)), c.white(0.3))


@fam("warmup_linear_epoch", "no_leak", "warmup")  # per-sample cache: stops exactly at 1 epoch
def _(c):
    return add([c.B] * len(c.t), c.ramp(0, c.e, c.B * c.u(0.5, 3)), c.ar(0.6, 0.3))


@fam("warmup_then_decline", "no_leak", "warmup")
def _(c):
    w = c.u(0.4, 0.95) * c.h
    h = c.B * c.u(0.5, 2.5)
    k = c.r.randint(3, 8)
    drops = sorted(c.u(w, c.T) for _ in range(k))
    size = [h * c.u(0.005, 0.03) for _ in range(k)]
    return add(
        [c.B - sum(z for a, z in zip(drops, size) if x > a) for x in c.t],
        c.ramp(0, w, h),
        c.white(0.1),
    )


@fam("warmup_exp", "no_leak", "warmup")
def _(c):
    tau = c.u(0.15, 0.3) * c.h
    h = c.B * c.u(0.3, 2)
    return add([c.B + h * (1 - math.exp(-x / tau)) for x in c.t], c.white(0.5))


@fam("warmup_exp_slow", "no_leak", "warmup")  # saturating; < 4 % of initial slope left at the end
def _(c):
    tau = c.T / c.pick(6, 4.5, 3.5)
    h = c.sig * c.u(*c.pick((10, 40), (20, 80), (40, 150)))
    return add([c.B + h * (1 - math.exp(-x / tau)) for x in c.t], c.white())


@fam("warmup_stairs", "no_leak", "warmup")
def _(c):
    k = c.r.randint(3, 9)
    at = sorted(c.u(0, 0.95 * c.h) for _ in range(k))
    sz = [c.B * c.u(0.02, 0.3) for _ in at]
    return add([c.B + sum(z for a, z in zip(at, sz) if x > a) for x in c.t], c.white(0.2))


@fam("warmup_plus_spikes", "no_leak", "warmup")
def _(c):
    w = c.u(0.4, 1.0) * c.h
    return add([c.B] * len(c.t), c.ramp(0, w, c.B * c.u(0.3, 2)), c.spikes(), c.white(0.3))


@fam("second_phase_ramp", "no_leak", "warmup")  # plateau, benign ramp (new phase), plateau
def _(c):
    w = c.u(0.3, 0.9) * c.h
    a = c.u(0.35, 0.5) * c.T
    b = a + c.u(0.3, 0.95) * c.h
    return add(
        [c.B] * len(c.t),
        c.ramp(0, w, c.B * c.u(0.3, 1)),
        c.ramp(a, b, c.B * c.u(0.1, 0.8)),
        c.white(0.4),
    )


@fam("level_shift_one", "no_leak", "level_shift")
def _(c):
    a = c.u(0.15, c.pick(0.6, 0.7, 0.8)) * c.T
    a = min(a, c.T - 1.2 * c.h)
    h = c.sig * c.u(*c.pick((20, 100), (8, 20), (4, 8)))
    return add([c.B + (h if x > a else 0) for x in c.t], c.white())


@fam("level_shift_few", "no_leak", "level_shift")  # 2-3 unrelated shifts up
def _(c):
    k = c.r.randint(2, 3)
    at = sorted(c.u(0.1, 1.0) * (c.T - 1.3 * c.h) for _ in range(k))
    sz = [c.sig * c.u(6, 60) for _ in at]
    return add([c.B + sum(z for a, z in zip(at, sz) if x > a) for x in c.t], c.white())


@fam("level_shift_up_down", "no_leak", "level_shift")
def _(c):
    a = c.u(0.2, 0.45) * c.T
    b = c.u(0.55, 0.8) * c.T
    h = c.sig * c.u(8, 60)
    return add([c.B + (h if a < x < b else 0) for x in c.t], c.white())


@fam("spikes_periodic", "no_leak", "spikes")
def _(c):
    return add([c.B] * len(c.t), c.spikes(), c.white(0.5))


@fam("spikes_random", "no_leak", "spikes")
def _(c):
    p = c.u(0.01, 0.08)
    return add(
        [c.B + (c.B * 0.1 * c.r.paretovariate(1.5) if c.r.random() < p else 0) for _x in c.t],
        c.white(0.5),
    )


@fam("spikes_growing", "no_leak", "spikes")  # peaks grow (bigger eval set), floor does not
def _(c):
    sp = c.spikes()
    return add([c.B + z * (0.4 + 1.2 * x / c.T) for z, x in zip(sp, c.t)], c.white(0.5))


@fam("gc_sawtooth", "no_leak", "spikes")
def _(c):
    return add([c.B] * len(c.t), c.saw(), c.white(0.4))


@fam("gc_sawtooth_amp_grows", "no_leak", "spikes")
def _(c):
    sw = c.saw()
    return add([c.B + z * (0.5 + x / c.T) for z, x in zip(sw, c.t)], c.white(0.4))


@fam("epoch_ramp_reset", "no_leak", "spikes")  # fills during the epoch, freed at its end
def _(c):
    h, e = c.B * c.u(0.1, 0.8), c.e
    return add([c.B + h * ((x % e) / e) for x in c.t], c.white(0.5))


@fam("reserved_running_max", "no_leak", "log")  # caching allocator + dynamic shapes: records ~ ln n
def _(c):
    c.kind, c.q = "torch_reserved", NV
    m, out = 0.0, []
    for _x in c.t:
        m = max(m, c.B * (0.5 + 0.08 * c.r.gammavariate(3, 1)))
        out.append(c.B + m)
    c.sig = 0.0
    return out


@fam("cache_log", "no_leak", "log")
def _(c):
    tau = c.T / c.u(60, 200)
    g = c.sig * c.u(*c.pick((4, 8), (6, 14), (8, 20)))
    return add([c.B + g * math.log1p(x / tau) for x in c.t], c.white())


@fam("cache_coupon", "no_leak", "log")  # unique keys seen, finite universe
def _(c):
    tau = c.u(0.25, 0.5) * c.h
    h = c.B * c.u(0.1, 1)
    lru = c.u(0.7, 1.0)
    return add([c.B + h * min(lru, 1 - math.exp(-x / tau)) for x in c.t], c.ar(0.5))


@fam("decreasing_linear", "no_leak", "decreasing")
def _(c):
    g = min(c.sig * c.growth(), 0.5 * c.B)
    return add([c.B - g * x / c.T for x in c.t], c.white())


@fam("decreasing_steps", "no_leak", "decreasing")
def _(c):
    at = sorted(c.u(0, c.T) for _ in range(c.r.randint(3, 10)))
    z = c.B * c.u(0.01, 0.04)
    return add([c.B - z * sum(x > a for a in at) for x in c.t], c.white(0.4))


@fam("restart_flat", "no_leak", "warmup")
def _(c):
    k = 2 if c.d == 2 else c.r.randint(2, 3)
    cuts = [c.T * (i + 1) / (k + 1) for i in range(k)] if k < 3 else [c.T * 0.3, c.T * 0.6]
    if c.r.random() < 0.5:
        c.restarts = [next(x for x in c.t if x > a) for a in cuts]
    w, h, out = c.u(0.3, 0.8) * c.h, c.B * c.u(0.5, 2), []
    for x in c.t:
        a = max([0.0] + [q for q in cuts if x > q])
        out.append(c.B + h * min(1, (x - a) / w))
    return add(out, c.white(0.4))


@fam("missing_flat", "no_leak", "flat")
def _(c):
    lose = c.pick(0.1, 0.3, 0.5)
    c.drop = {i for i in range(len(c.t)) if c.r.random() < lose}
    a = c.r.randint(len(c.t) // 4, len(c.t) // 2)
    c.drop |= set(range(a, a + len(c.t) // 10))
    return add([c.B] * len(c.t), c.ar(0.6))


@fam("burst_alloc_freed", "no_leak", "spikes")  # plateau excursions lasting < horizon
def _(c):
    out, nxt, end = [], c.u(0.3, 1) * c.h, -1
    h = 0.0
    for x in c.t:
        if x > nxt:
            end, h = x + c.u(0.1, 0.6) * c.h, c.sig * c.u(10, 50)
            nxt = end + c.u(0.3, 1.2) * c.h
        out.append(c.B + (h if x < end else 0))
    return add(out, c.white())


# ------------------------------------------------------------------ leaks
@fam("leak_linear", "leak", "leak")
def _(c):
    return add([c.B] * len(c.t), c.leak(0), c.white())


@fam("leak_exact_512B", "leak", "leak")  # list.append(loss): exactly linear, no noise
def _(c):
    c.kind, c.q, c.sig, c.B = "torch_alloc", BLK, 0.0, c.u(20, 4000)
    return add([c.B] * len(c.t), c.leak(0, rate=BLK * c.r.randint(1, 40)))


@fam("leak_exact_late", "leak", "leak")
def _(c):
    c.kind, c.q, c.sig = "torch_alloc", BLK, 0.0
    on = c.s * math.floor(c.late() / c.s)
    return add([c.B] * len(c.t), c.leak(on, rate=BLK * c.r.randint(1, 400)))


@fam("leak_exact_in_fluct", "leak", "leak")  # exact leak under per-batch allocation changes
def _(c):
    c.kind, c.q = "torch_alloc", BLK
    return add([c.B] * len(c.t), c.leak(0), [BLK * c.r.randint(0, 50) for _ in c.t], c.white(0.5))


@fam("leak_nvml_2MiB", "leak", "leak")  # staircase of 2 MiB
def _(c):
    c.kind, c.q = "nvml", NV
    c.sig = 0.0
    return add([c.B] * len(c.t), c.leak(0, total=NV * c.u(*c.pick((60, 200), (25, 60), (10, 25)))))


@fam("leak_after_warmup", "leak", "leak")
def _(c):
    w = c.u(0.3, 1.0) * c.h
    return add([c.B] * len(c.t), c.ramp(0, w, c.B * c.u(0.4, 2.5)), c.leak(w), c.white())


@fam("leak_late_onset", "leak", "leak")
def _(c):
    return add([c.B] * len(c.t), c.leak(c.late()), c.white())


@fam("leak_warmup_plateau_late", "leak", "leak")
def _(c):
    w = c.u(0.3, 0.9) * c.h
    return add(
        [c.B] * len(c.t), c.ramp(0, w, c.B * c.u(0.3, 2)), c.leak(max(c.late(), 1.5 * w)), c.white()
    )


@fam("leak_ar1", "leak", "leak")
def _(c):
    g = c.u(*c.pick((40, 150), (20, 50), (10, 24)))
    return add([c.B] * len(c.t), c.leak(0, total=g * c.sig), c.ar(c.pick(0.5, 0.8, 0.9)))


@fam("leak_sawtooth", "leak", "leak")  # floor rises under a GC sawtooth
def _(c):
    a = c.B * c.u(0.1, 0.4)
    return add(
        [c.B] * len(c.t),
        c.saw(a),
        c.leak(0, total=a * c.u(*c.pick((1, 3), (0.5, 1), (0.25, 0.5)))),
        c.white(0.3),
    )


@fam("leak_under_spikes", "leak", "leak")
def _(c):
    a = c.B * c.u(0.3, 0.9)
    return add([c.B] * len(c.t), c.spikes(a), c.leak(0), c.white(0.5))


@fam("leak_epoch_ramp", "leak", "leak")  # ramp-and-reset each epoch, reset point creeps up
def _(c):
    h, e = c.B * c.u(0.1, 0.5), c.e
    return add(
        [c.B + h * ((x % e) / e) for x in c.t],
        c.leak(0, total=h * c.u(*c.pick((1, 2), (0.5, 1), (0.3, 0.5)))),
        c.white(0.3),
    )


@fam("leak_step_per_epoch", "leak", "leak")  # something retained once per epoch
def _(c):
    e = min(c.e, c.T / 10)
    z = c.sig * c.u(*c.pick((4, 12), (2, 4), (1, 2)))
    c.onset, c.rate = e, z / e
    return add([c.B + z * math.floor(x / e) for x in c.t], c.white())


@fam("leak_spikes_not_recovered", "leak", "leak")  # validation spikes leave a residue
def _(c):
    p = min(c.u(0.25, 0.9) * c.h, c.T / 9)
    a, z = c.B * c.u(0.2, 0.7), c.sig * c.u(*c.pick((5, 12), (3, 5), (1.5, 3)))
    c.onset, c.rate = p, z / p
    w = max(1.01 * c.s, 0.1 * p)
    return add(
        [c.B + z * math.floor(x / p) + (a if (x % p) > p - w else 0) for x in c.t], c.white(0.7)
    )


@fam("leak_poisson_jumps", "leak", "leak")  # rare retained objects
def _(c):
    k = c.pick(120, 60, 30)
    z = c.growth() * c.sig * 1.5 / k
    c.onset, c.rate = 0, k * z / c.T
    lvl, nxt, out = 0.0, c.r.expovariate(k / c.T), []
    for x in c.t:
        while x > nxt:
            lvl += z * c.u(0.5, 1.5)
            nxt += c.r.expovariate(k / c.T)
        out.append(c.B + lvl)
    return add(out, c.white(0.6))


@fam("leak_intermittent", "leak", "leak")  # leaks only in some phases, net growth persistent
def _(c):
    p = c.u(0.2, 0.6) * c.h
    duty = c.u(0.3, 0.7)
    g = c.growth() * c.sig * 1.3
    c.onset, c.rate = 0, g / c.T
    out = []
    for x in c.t:
        k, f = divmod(x, p)
        out.append(c.B + c.rate * p * (k + min(1, (f / p) / duty)))
    return add(out, c.white(0.7))


@fam("leak_accelerating", "leak", "leak")
def _(c):
    g = c.growth() * c.sig * 1.3
    a = c.u(1.3, 2.2)
    c.onset, c.rate = 0, a * g / c.T
    return add([c.B + g * (x / c.T) ** a for x in c.t], c.white())


@fam("leak_power_085", "leak", "leak")  # mildly sub-linear but unbounded
def _(c):
    g = c.growth() * c.sig * 1.5
    a = c.u(0.8, 0.92)
    c.onset, c.rate = 0, a * g / c.T
    return add([c.B + g * (x / c.T) ** a for x in c.t], c.white())


@fam("leak_after_decline", "leak", "leak")  # load peak freed, then a leak smaller than the drop
def _(c):
    a = c.u(0.1, 0.3) * c.T
    h = c.B * c.u(0.1, 0.4)
    g = min(c.growth() * c.sig, 0.8 * h)
    return add([c.B + h * max(0, 1 - x / a) for x in c.t], c.leak(a, total=g), c.white())


@fam("leak_missing", "leak", "leak")
def _(c):
    lose = c.pick(0.1, 0.3, 0.5)
    c.drop = {i for i in range(len(c.t)) if c.r.random() < lose}
    a = c.r.randint(len(c.t) // 4, len(c.t) // 2)
    c.drop |= set(range(a, a + len(c.t) // 10))
    return add([c.B] * len(c.t), c.leak(0), c.ar(0.5))


@fam("leak_restart", "leak", "leak")
def _(c):
    w = c.u(0.3, 0.8) * c.h
    cut = c.u(0.42, 0.5) * c.T
    if c.r.random() < 0.5:
        c.restarts = [next(x for x in c.t if x > cut)]
    g = c.growth() * c.sig
    r = g / (c.T - cut - w)
    h, out = c.B * c.u(0.5, 2), []
    for x in c.t:
        a = cut if x > cut else 0.0
        out.append(c.B + h * min(1, (x - a) / w) + r * max(0, x - a - w))
    c.onset, c.rate = w, r
    return add(out, c.white())


@fam("leak_below_noise", "leak", "leak")  # growth 2-4 sigma in total, many samples
def _(c):
    return add(
        [c.B] * len(c.t), c.leak(0, total=c.sig * c.u(*c.pick((4, 6), (3, 4), (2, 3)))), c.white()
    )


# ------------------------------------------------------------------ inconclusive
def _cut(c, frac):
    m = max(5, int(frac * c.h / c.s))
    c.t = c.t[:m]
    c.T = c.t[-1]


@fam("short_any", "inconclusive", "short")
def _(c):
    c.t = c.t[: c.r.randint(3, 7)]
    c.T = c.t[-1]
    return add([c.B] * len(c.t), c.ramp(0, c.T, c.sig * c.u(0, 40)), c.white())


@fam("warmup_cut", "inconclusive", "ambiguous")  # seeds, run 1: stopped before the plateau
def _(c):
    _cut(c, c.u(0.3, 0.7))
    return add([c.B] * len(c.t), c.ramp(0, c.T, c.B * c.u(0.5, 3)), c.white(0.3))


@fam("warmup_cut_exact", "inconclusive", "ambiguous")
def _(c):
    c.kind, c.q, c.sig = "torch_alloc", BLK, 0.0
    _cut(c, c.u(0.3, 0.7))
    return add([c.B] * len(c.t), c.ramp(0, c.T, BLK * len(c.t) * c.r.randint(1, 500)))


@fam("rise_just_started", "inconclusive", "ambiguous")
def _(c):
    a = c.T - max(4 * c.s, c.u(0.15, 0.5) * c.h)
    return add([c.B] * len(c.t), c.ramp(a, c.T, c.sig * c.u(10, 60)), c.white())


@fam("step_at_end", "inconclusive", "ambiguous")
def _(c):
    a = c.T - c.u(1.5, 4) * c.s
    return add([c.B + (c.sig * c.u(10, 40) if x > a else 0) for x in c.t], c.white(0.5))


@fam("second_ramp_cut", "inconclusive", "ambiguous")
def _(c):
    w = c.u(0.3, 0.9) * c.h
    a = c.T - c.u(0.3, 0.6) * c.h
    return add(
        [c.B] * len(c.t),
        c.ramp(0, w, c.B * c.u(0.3, 1)),
        c.ramp(a, c.T, c.B * c.u(0.1, 0.5)),
        c.white(0.4),
    )


@fam(
    "rounded_log", "inconclusive", "ambiguous"
)  # "VRAM=25MB" in a log: growth of 1-2 units of rounding
def _(c):
    c.kind, c.q, c.sig = "log_rounded", 1.0, 0.0
    c.B = float(c.r.randint(20, 400)) + c.u(0.0, 0.4)
    g = c.u(0.7, 1.4)
    return [c.B + g * x / c.T for x in c.t]


@fam("restarts_too_often", "inconclusive", "ambiguous")
def _(c):
    p = c.u(0.35, 0.6) * c.h
    k = int(min(c.T, c.u(3, 6) * p) / c.s)
    c.t = c.t[:k]
    c.T = c.t[-1]
    c.restarts = [x for i, x in enumerate(c.t) if i and (c.t[i - 1] // p) < (x // p)]
    h = c.B * c.u(0.5, 2)
    return add([c.B + h * ((x % p) / p) for x in c.t], c.white(0.3))


@fam(
    "gap_with_change", "inconclusive", "ambiguous"
)  # nothing recorded while the level changed; too little after
def _(c):
    n = len(c.t)
    a = int(0.3 * n)
    b = n - max(4, int(0.25 * c.h / c.s))
    c.drop = set(range(a, b))
    h = c.sig * c.u(10, 60)
    return add([c.B + (h if i >= b else 0) for i in range(n)], c.white())


# ------------------------------------------------------------------ process trees
def tree(c, base):
    """wrapper (flat), workers (flat), one child that leaks or warms up, and the sum."""
    leaky = c.r.random() < 0.5
    n = len(c.t)
    wrap = [40.0 + PAGE * c.r.randint(0, 3) for _ in c.t]
    work = add([400.0 * 8] * n, [PAGE * c.r.randint(-40, 40) for _ in c.t])
    w = c.u(0.3, 0.9) * c.h
    child = add([c.B] * n, c.ramp(0, w, c.B * c.u(0.4, 2)), c.white())
    lk = [0.0] * n
    if leaky:
        lk = c.leak(w)
        child = add(child, lk)
    rate, onset = c.rate, c.onset
    out = []
    for role, v, lab, shp, r, o in (
        ("wrapper", wrap, "no_leak", "flat", 0, None),
        ("workers", work, "no_leak", "flat", 0, None),
        (
            "child",
            child,
            "leak" if leaky else "no_leak",
            "leak" if leaky else "warmup",
            rate,
            onset,
        ),
        (
            "sum",
            add(wrap, work, child),
            "leak" if leaky else "no_leak",
            "leak" if leaky else "warmup",
            rate,
            onset,
        ),
    ):
        d = dict(base)
        d.update(
            v=v,
            label=lab,
            shape=shp,
            rate=r if lab == "leak" else 0.0,
            onset=o if lab == "leak" else None,
            family="tree_" + role + ("_leak" if lab == "leak" else ""),
        )
        out.append(d)
    return out


def finish(c, v, d, rng):
    q = c.q
    vv = []
    for i, x in enumerate(v):
        if i in c.drop:
            vv.append(None)
        else:
            vv.append(
                round(
                    max(
                        0.0,
                        (
                            math.floor(x / q + 1e-9) * q
                            if c.kind in ("nvml", "torch_reserved")
                            else round(x / q) * q
                        ),
                    ),
                    6,
                )
            )
    last = next(x for x in reversed(vv) if x is not None)
    lim = max(x for x in vv if x is not None) * rng.uniform(1.3, 6)
    d.update(
        v=vv,
        t=[round(x, 3) for x in c.t],
        unit=c.unit,
        kind=c.kind,
        epoch_len=c.E,
        horizon=c.h,
        restarts=[round(x, 3) for x in c.restarts],
        noise_mb=round(c.sig, 6),
        limit_mb=round(lim, 3),
    )
    if d["label"] == "leak":
        d["rate"] = float("%.8g" % d["rate"])
        d["onset"] = round(d["onset"], 3)
        d["eta"] = round((lim - last) / d["rate"], 1)
        d["snr"] = round(d["rate"] * (c.T - d["onset"]) / c.sig, 2) if c.sig > 0 else None
    else:
        d.update(rate=0.0, onset=None, eta=None, snr=None)
    return d


def generate(seed, per, only=None):
    for name, (label, shape, f) in FAM.items():
        if only and name not in only:
            continue
        for di, dn in enumerate(LEVELS):
            for i in range(per):
                rng = random.Random("%d:%s:%s:%d" % (seed, name, dn, i))
                ke = True if name in ("warmup_linear_epoch", "leak_step_per_epoch") else None
                c = Ctx(rng, di, know_epoch=ke, unit="step" if ke else None)
                v = f(c)
                base = dict(
                    id="%s-%s-%02d" % (name, dn, i),
                    family=name,
                    difficulty=dn,
                    label=label,
                    shape=shape,
                    rate=c.rate,
                    onset=c.onset,
                    group=None,
                )
                yield finish(c, v, base, rng)
    for di, dn in enumerate(LEVELS):
        for i in range(max(1, per)):
            rng = random.Random("%d:tree:%s:%d" % (seed, dn, i))
            if only and "tree" not in only:
                continue
            c = Ctx(rng, di)
            g = "tree-%s-%02d" % (dn, i)
            for d in tree(c, dict(difficulty=dn, group=g)):
                d["id"] = g + "-" + d["family"].replace("tree_", "").replace("_leak", "")
                yield finish(c, d.pop("v"), d, rng)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--per", type=int, default=6)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only", help="comma separated families")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("-o", default="-")
    a = ap.parse_args()
    if a.list:
        for k, (l, s, _f) in FAM.items():
            print("%-28s %-13s %s" % (k, l, s))
        print("tree_{wrapper,workers,child,sum}[_leak]")
        print(len(FAM) + 6, "families")
        return
    o = sys.stdout if a.o == "-" else open(a.o, "w")
    n = pts = 0
    for d in generate(a.seed, a.per, set(a.only.split(",")) if a.only else None):
        o.write(json.dumps(d, separators=(",", ":")) + "\n")
        n += 1
        pts += len(d["t"])
    print(n, "series", pts, "samples", file=sys.stderr)


if __name__ == "__main__":
    main()
