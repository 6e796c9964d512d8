"""Tests whether differences are more than chance: paired Student's t, with Holm's correction.

The rules are those of `tidemark tradeoff`; docs/VERDICT.md has the reasons.
"""

import math
import typing

CHANCE = 0.05  # of calling at least one of the tested differences real though none is
LEAST_PAIRS = 3  # two values say almost nothing about their spread
SHARED = 0.25  # correlation of two settings' variances, which share their baseline


def _beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    value = d
    for m in range(1, 300):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 / (1.0 + numerator * d or tiny)
            c = 1.0 + numerator / c or tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-12:
            break
    return value


def _incomplete_beta(a, b, x):
    """Regularized: I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x)
                     + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def two_sided(t, freedom):
    """The probability of a t at least this far from 0 if there is no difference."""
    return _incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))


class _Spread(typing.NamedTuple):
    """The standard error of a mean difference, with its degrees of freedom."""

    error: float
    freedom: int


class _Test(typing.NamedTuple):
    chance: float  # probability without any difference, by the clearer of two tests
    own: float  # the same from its own rounds alone


def _squares(differences):
    mean = math.fsum(differences) / len(differences)
    return math.fsum((d - mean) ** 2 for d in differences)


def _spread(groups):
    """The spread of all groups together."""
    freedom, count = sum(len(g) - 1 for g in groups), sum(len(g) for g in groups)
    apart = SHARED + (1 - SHARED) / len(groups)
    return _Spread(math.sqrt(sum(map(_squares, groups)) / freedom * len(groups) / count),
                   int(freedom / len(groups) / apart))


def _chance_by(mean, spread):
    if spread.error == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided(mean / spread.error, spread.freedom)


def tests_of(groups):
    """One test per setting, from its differences by round in one measure; None: too few."""
    enough = [g for g in groups if len(g) >= LEAST_PAIRS]
    everyone = _spread(enough) if enough else None
    return [_test(g, everyone) if len(g) >= LEAST_PAIRS else None for g in groups]


def _test(differences, everyone):
    mean = math.fsum(differences) / len(differences)
    own = _chance_by(mean, _spread([differences]))
    return _Test(min(2 * min(own, _chance_by(mean, everyone)), 1.0), own)


def real_ones(tests):
    """Which differences are real, by Holm's procedure over all of them. A setting that scatters more
    than others must be clear from its own rounds too."""
    order = sorted((test.chance, i) for i, test in enumerate(tests) if test is not None)
    real = [False] * len(tests)
    for rank, (p, i) in enumerate(order):
        if p > CHANCE / (len(order) - rank):
            break
        real[i] = tests[i].own < CHANCE
    return real
