#!/usr/bin/env python3
"""Baseline leak detectors (stdlib only) run causally over a gen_corpus.py corpus.

  python3 baselines.py corpus.jsonl -d preds/            # writes preds/pred_<name>.jsonl
  python3 score.py corpus.jsonl preds/pred_*.jsonl

Every baseline is a function f(S, n) -> (verdict, rate, onset) that may look at the first n samples
only. It is replayed at up to --checks prefixes; the last prefix gives the verdict, the first 'leak'
gives alarm_t. Written from published descriptions, not copied:
  trainwatch50, trainwatch10   Hords01/trainwatch: memory at the end of epoch 1 is the baseline; a
                               later epoch end above it by 50 MB (the documents), or by 10 MB, or by
                               5 MB twice in a row (0.2.1)
  mean_slope10                 model-garden test: (last - first) / steps > 10 MB/step
  floor_first10_last10         model-garden track_leak_precisely: min(last 10) - min(first 10)
                               > 100 MB (50 to 100: 'possible')
  ols_r2                       slope > 0 and R^2 >= 0.8 over everything
  lbr                          Jindal et al. 2021, Linear Backward Regression (R^2 >= 0.8)
  precog_mf                    Jindal et al. 2020/21, Precog with maximum filtration (train on 75 %,
                               test on 25 %)
  (lbr, precog_mf: exit time <= 28 horizons, the paper's 7 d / 6 h; *_nolimit drops that test)
  mann_kendall                 two-sided p < 0.05, S > 0
  mk_hamed_rao                 the same with the Hamed-Rao (1998) variance correction
  skip_half_mk                 forget the first half, Mann-Kendall p < 0.001 on the rest
  floor_5_windows              minimum of each of the last 5 horizon-long windows strictly rising
  scalene_like                 rule of succession on new-maximum events, score >= 0.95
"""

import argparse
import bisect
import json
import math
import os
import sys
import time


class S:
    """One series: valid samples, prefix sums and the metadata a monitor would know."""

    def __init__(self, d):
        z = [(t, v) for t, v in zip(d["t"], d["v"]) if v is not None]
        self.t = [a for a, _ in z]
        self.v = [b for _, b in z]
        self.h, self.e, self.lim = d["horizon"], d["epoch_len"] or 100, d["limit_mb"]
        self.n = len(z)
        self.cs = [(0.0,) * 5]
        t0, v0 = self.t[0], self.v[0]
        a = b = c = e = f = 0.0
        for t, v in z:
            x, y = t - t0, v - v0
            a += x
            b += y
            c += x * x
            e += x * y
            f += y * y
            self.cs.append((a, b, c, e, f))

    def ols(self, i, j):
        """slope, R^2, residual variance over samples i..j-1"""
        m = j - i
        p, q = self.cs[i], self.cs[j]
        sx, sy, sxx, sxy, syy = (q[k] - p[k] for k in range(5))
        dx = sxx - sx * sx / m
        dxy = sxy - sx * sy / m
        dy = max(0.0, syy - sy * sy / m)
        if dx <= 0:
            return 0.0, 0.0, 0.0
        b = dxy / dx
        if dy <= 1e-12 * max(1.0, abs(self.v[0])) ** 2:
            return (b, 0.0, 0.0)
        r2 = dxy * dxy / (dx * dy)
        return b, r2, max(0.0, dy - b * dxy) / max(1, m - 2)


def median(x):
    x = sorted(x)
    m = len(x)
    return 0.0 if not m else (x[m // 2] if m % 2 else 0.5 * (x[m // 2 - 1] + x[m // 2]))


def sen(t, v, cap=160):
    k = max(1, len(t) // cap)
    t, v = t[::k], v[::k]
    return median(
        [(v[j] - v[i]) / (t[j] - t[i]) for i in range(len(t)) for j in range(i + 1, len(t))]
    )


# ---------------------------------------------------------------- simple thresholds
def ends(s, n):
    out, k = [], 1
    for i in range(n):
        if s.t[i] >= k * s.e:
            out.append(i)
            k = int(s.t[i] // s.e) + 1
    return out


def trainwatch50(s, n):
    e = ends(s, n)
    if len(e) < 2:
        return "inconclusive", None, None
    d = s.v[e[-1]] - s.v[e[0]]
    if d > 50:
        return "leak", d / (s.t[e[-1]] - s.t[e[0]]), s.t[e[0]]
    return "no_leak", None, None


def trainwatch10(s, n):
    e = ends(s, n)
    if len(e) < 2:
        return "inconclusive", None, None
    b, prev, streak, bad = s.v[e[0]], None, 0, False
    for i in e[1:]:
        d = s.v[i] - b
        if prev is not None:
            streak = streak + 1 if d - prev > 5 else 0
        prev = d
        bad = d > 10 or streak >= 2
    d = s.v[e[-1]] - b
    return ("leak", d / (s.t[e[-1]] - s.t[e[0]]), s.t[e[0]]) if bad else ("no_leak", None, None)


def mean_slope10(s, n):
    if n < 2:
        return "inconclusive", None, None
    r = (s.v[n - 1] - s.v[0]) / (s.t[n - 1] - s.t[0])
    return ("leak", r, s.t[0]) if r > 10 else ("no_leak", None, None)


def floor_first10_last10(s, n):
    if n < 20:
        return "inconclusive", None, None
    d = min(s.v[n - 10 : n]) - min(s.v[:10])
    if d > 100:
        return "leak", d / (s.t[n - 1] - s.t[0]), s.t[0]
    return ("inconclusive", None, None) if d > 50 else ("no_leak", None, None)


def floor_5_windows(s, n):
    if s.t[n - 1] - s.t[0] < 5 * s.h:
        return "inconclusive", None, None
    m, hi = [], s.t[n - 1]
    for k in range(5):
        i = bisect.bisect_right(s.t, hi - (k + 1) * s.h, 0, n)
        j = bisect.bisect_right(s.t, hi - k * s.h, 0, n)
        if j <= i:
            return "inconclusive", None, None
        m.append(min(s.v[i:j]))
    m.reverse()
    if all(b > a for a, b in zip(m, m[1:])):
        return "leak", (m[-1] - m[0]) / (4 * s.h), hi - 5 * s.h
    return "no_leak", None, None


# ---------------------------------------------------------------- regression
def ols_r2(s, n):
    if n < 10:
        return "inconclusive", None, None
    b, r2, _ = s.ols(0, n)
    return ("leak", b, s.t[0]) if b > 0 and r2 >= 0.8 else ("no_leak", None, None)


def lbr(s, n, crit=28):
    if n < 10 or s.t[n - 1] - s.t[0] < s.h:
        return "inconclusive", None, None
    i = min(n - 10, bisect.bisect_right(s.t, s.t[n - 1] - s.h, 0, n))
    best = None
    while i >= 0:
        b, r2, _ = s.ols(i, n)
        if (
            b > 0
            and r2 >= 0.8
            and (s.lim - s.v[n - 1]) / b <= crit * s.h
            and (best is None or r2 >= best[0])
        ):
            best = (r2, b, i)
        if i == 0:
            break
        i = max(0, i - max(1, n // 100))
    return ("leak", best[1], s.t[best[2]]) if best else ("no_leak", None, None)


def lbr_nolimit(s, n):
    """the same without the exit-time test (most corpus leaks are far from the limit)"""
    return lbr(s, n, 1e18)


def _prep(t, v):
    k = max(1, len(t) // 600)
    tt = [t[min(len(t) - 1, i + k - 1)] for i in range(0, len(t), k)]
    vv = [median(v[i : i + k]) for i in range(0, len(t), k)]
    w, buf, out = 12, [], []
    for i, x in enumerate(vv):
        bisect.insort(buf, x)
        if len(buf) > w:
            del buf[bisect.bisect_left(buf, vv[i - w])]
        m = len(buf)
        out.append(buf[m // 2] if m % 2 else 0.5 * (buf[m // 2 - 1] + buf[m // 2]))
    return tt, out


def _cps(t, v, sep):
    d = [abs(b - a) for a, b in zip(v, v[1:])]
    if not d:
        return [0]
    m = median(d)
    mad = median([abs(x - m) for x in d])
    idx = [i + 1 for i, x in enumerate(d) if mad > 0 and 0.6745 * (x - m) / mad > 3.5]
    out = [0]
    for i in idx + [len(v) - 1]:
        if t[i] - t[out[-1]] >= sep:
            out.append(i)
    if out[-1] != len(v) - 1:
        out.append(len(v) - 1)
    return out


def precog_mf(s, n, crit=28):
    if s.t[n - 1] - s.t[0] < 4 * s.h or n < 40:
        return "inconclusive", None, None
    k = int(0.75 * n)
    tt, tv = _prep(s.t[:k], s.v[:k])
    pt, pv = _prep(s.t[k:n], s.v[k:n])
    if len(pt) < 4:
        return "inconclusive", None, None

    def trend(o, i, j, cur):
        if o.t[j - 1] - o.t[i] < s.h * 0.5 or j - i < 3:
            return None
        b, r2, _ = o.ols(i, j)
        ex = (s.lim - cur) / b if b > 0 else float("inf")
        return (r2, b, o.t[j - 1] - o.t[i], ex) if r2 > 0.8 else None

    def mini(t, v):
        o = S.__new__(S)
        o.t, o.v, o.n, o.cs = t, v, len(t), [(0.0,) * 5]
        a = b = c = e = f = 0.0
        for x, y in zip(t, v):
            x -= t[0]
            y -= v[0]
            a += x
            b += y
            c += x * x
            e += x * y
            f += y * y
            o.cs.append((a, b, c, e, f))
        return o

    T, Q = mini(tt, tv), mini(pt, pv)
    top = median(sorted(tv)[-10:])
    cp = _cps(tt, tv, s.h * 0.5)[:40]
    mslope, mdur, found = 0.0, s.h * 0.5, []
    for a in range(len(cp) - 1):
        bl = None
        for b in range(a + 1, len(cp)):
            r = trend(T, cp[a], cp[b] + 1, tv[cp[b]])
            if (
                r
                and r[1] > 0
                and (bl is None or (r[0] >= bl[0][0] and r[2] >= bl[0][2] and r[1] >= bl[0][1]))
            ):
                bl = (r, cp[b])
        if bl and bl[0][3] <= crit * s.h and bl[1] < len(tt) - 1:
            mslope, mdur = max(mslope, bl[0][1]), max(mdur, bl[0][2])
            found.append(bl[0])
    cq = _cps(pt, pv, s.h * 0.5)
    hit = None
    for a in reversed(cq[:-1]):
        r = trend(Q, a, len(pt), pv[-1])
        if not r or r[3] > crit * s.h or r[1] <= 0:
            continue
        if (r[1] >= mslope and r[2] >= mdur) or any(r[1] >= f[1] and r[2] >= f[2] for f in found):
            hit = (r, a)
    if hit:
        w = sorted(pv[cq[-2] :])[-10:] if len(cq) > 1 else sorted(pv)[-10:]
        if all(x >= 0.95 * s.lim or x >= top for x in w):
            return "leak", hit[0][1], pt[hit[1]]
    return "no_leak", None, None


def precog_mf_nolimit(s, n):
    return precog_mf(s, n, 1e18)


# ---------------------------------------------------------------- rank tests
def mk_stat(v):
    srt, sc, ties = [], 0, {}
    for x in v:
        a, b = bisect.bisect_left(srt, x), bisect.bisect_right(srt, x)
        sc += a - (len(srt) - b)
        srt.insert(b, x)
        ties[x] = ties.get(x, 0) + 1
    n = len(v)
    var = (
        n * (n - 1) * (2 * n + 5) - sum(c * (c - 1) * (2 * c + 5) for c in ties.values() if c > 1)
    ) / 18.0
    return sc, var


def zval(sc, var):
    return 0.0 if var <= 0 or sc == 0 else (sc - (1 if sc > 0 else -1)) / math.sqrt(var)


def mann_kendall(s, n):
    if n < 10:
        return "inconclusive", None, None
    if not hasattr(s, "mk"):  # all prefixes at once
        s.mk, srt, sc, tie, ts = [(0, 0)], [], 0, {}, 0
        for i, x in enumerate(s.v):
            a, b = bisect.bisect_left(srt, x), bisect.bisect_right(srt, x)
            sc += a - (len(srt) - b)
            srt.insert(b, x)
            c = tie.get(x, 0)
            ts += (c + 1) * c * (2 * (c + 1) + 5) - c * (c - 1) * (2 * c + 5)
            tie[x] = c + 1
            m = i + 1
            s.mk.append((sc, (m * (m - 1) * (2 * m + 5) - ts) / 18.0))
    z = zval(*s.mk[n])
    return ("leak", None, s.t[0]) if z > 1.96 else ("no_leak", None, None)


def mk_hamed_rao(s, n):
    if n < 20:
        return "inconclusive", None, None
    k = max(1, n // 400)
    t, v = s.t[:n:k], s.v[:n:k]
    m = len(v)
    sc, var = mk_stat(v)
    b = sen(t, v, 60)
    r = sorted(range(m), key=lambda i: v[i] - b * t[i])
    rk = [0.0] * m
    for a, i in enumerate(r):
        rk[i] = a - (m - 1) / 2
    c0 = sum(x * x for x in rk)
    corr = 0.0
    for lag in range(1, min(m - 3, 30)):
        rho = sum(rk[i] * rk[i + lag] for i in range(m - lag)) / c0
        if abs(rho) > 1.96 / math.sqrt(m):
            corr += (m - lag) * (m - lag - 1) * (m - lag - 2) * rho
    f = max(1.0, 1 + 2.0 / (m * (m - 1) * (m - 2)) * corr)
    return ("leak", b, s.t[0]) if zval(sc, var * f) > 1.96 else ("no_leak", None, None)


def skip_half_mk(s, n):
    if n < 20:
        return "inconclusive", None, None
    k = max(1, n // 600)
    sc, var = mk_stat(s.v[n // 2 : n : k])
    return ("leak", None, s.t[n // 2]) if zval(sc, var) > 3.29 else ("no_leak", None, None)


# ---------------------------------------------------------------- Scalene-like
def scalene_like(s, n):
    """a new maximum (by a granule) is an allocation, falling back below the old one a free"""
    if n < 5:
        return "inconclusive", None, None
    g = max(0.001, 0.002 * s.v[0])
    mx, last, al, fr, grow, gross = s.v[0], None, 0, 0, 0.0, 1e-9
    for i in range(1, n):
        x = s.v[i]
        d = x - s.v[i - 1]
        grow += d
        gross += max(0.0, d)
        if x > mx + g:
            al += 1
            last = mx
            mx = x
        elif last is not None and x <= last:
            fr += 1
            last = None
    if grow / gross < 0.01:
        return "no_leak", None, None
    sc = 1 - (fr + 1) / max(1e-9, al - fr + 2)
    return ("leak", grow / (s.t[n - 1] - s.t[0]), s.t[0]) if sc >= 0.95 else ("no_leak", None, None)


ALL = [
    trainwatch50,
    trainwatch10,
    mean_slope10,
    floor_first10_last10,
    floor_5_windows,
    ols_r2,
    lbr,
    lbr_nolimit,
    precog_mf,
    precog_mf_nolimit,
    mann_kendall,
    mk_hamed_rao,
    skip_half_mk,
    scalene_like,
]


def replay(f, s, checks):
    k = min(s.n, checks)
    pts = sorted({max(1, round(s.n * (i + 1) / k)) for i in range(k)})
    alarm, r = None, None
    for n in pts:
        r = f(s, n)
        if r[0] == "leak" and alarm is None:
            alarm = s.t[n - 1]
    v, rate, onset = r
    if v == "leak" and rate is None:
        i = s.n // 2 if f is skip_half_mk else 0
        rate = sen(s.t[i:], s.v[i:])
    eta = (s.lim - s.v[-1]) / rate if v == "leak" and rate and rate > 0 else None
    return dict(verdict=v, rate=rate, onset=onset, alarm_t=alarm, eta=eta)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("corpus")
    ap.add_argument("-d", default="preds")
    ap.add_argument("--checks", type=int, default=40)
    ap.add_argument("--only")
    a = ap.parse_args()
    os.makedirs(a.d, exist_ok=True)
    C = [json.loads(l) for l in open(a.corpus)]
    SS = [S(d) for d in C]
    for f in ALL:
        if a.only and f.__name__ not in a.only.split(","):
            continue
        t0 = time.time()
        ch = min(a.checks, 12) if f is mk_hamed_rao else a.checks
        with open(os.path.join(a.d, "pred_%s.jsonl" % f.__name__), "w") as o:
            for d, s in zip(C, SS):
                r = replay(f, s, ch)
                r["id"] = d["id"]
                o.write(json.dumps(r) + "\n")
        print("%-22s %6.1f s" % (f.__name__, time.time() - t0), file=sys.stderr)


if __name__ == "__main__":
    main()
