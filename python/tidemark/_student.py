"""Whether differences are more than chance: Student's t of pairs, Holm over all of them.

The rules are those of `tidemark tradeoff`; docs/VERDICT.md has the reasons.
"""

import math
import typing

CHANCE = 0.05  # that one of all that are judged together is called real though none is
LEAST_PAIRS = 3  # two values tell next to nothing of their spread
SHARED = 0.25  # correlation of the variances of two settings: they share what they are compared with


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
    """Regularised: I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x)
                     + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def two_sided(t, freedom):
    """How likely a t as far from 0 is where there is no difference."""
    return _incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))


class _Spread(typing.NamedTuple):
    """How far the mean of some differences may be off."""

    error: float
    freedom: int


class _Test(typing.NamedTuple):
    chance: float  # to see as much without any difference, by the clearer of two looks
    own: float  # the same by its own rounds alone


def _squares(differences):
    mean = math.fsum(differences) / len(differences)
    return math.fsum((d - mean) ** 2 for d in differences)


def _spread(groups):
    """By all of them together."""
    freedom, count = sum(len(g) - 1 for g in groups), sum(len(g) for g in groups)
    apart = SHARED + (1 - SHARED) / len(groups)
    return _Spread(math.sqrt(sum(map(_squares, groups)) / freedom * len(groups) / count),
                   int(freedom / len(groups) / apart))


def _chance_by(mean, spread):
    if spread.error == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided(mean / spread.error, spread.freedom)


def tests_of(groups):
    """One for each setting's differences by round, of one measure; None: there are too few."""
    enough = [g for g in groups if len(g) >= LEAST_PAIRS]
    everyone = _spread(enough) if enough else None
    return [_test(g, everyone) if len(g) >= LEAST_PAIRS else None for g in groups]


def _test(differences, everyone):
    mean = math.fsum(differences) / len(differences)
    own = _chance_by(mean, _spread([differences]))
    return _Test(min(2 * min(own, _chance_by(mean, everyone)), 1.0), own)


def real_ones(tests):
    """Which are clear enough, all taken together: Holm's procedure; a setting that scatters more
    than others has to be clear by its own rounds as well."""
    order = sorted((test.chance, i) for i, test in enumerate(tests) if test is not None)
    real = [False] * len(tests)
    for rank, (p, i) in enumerate(order):
        if p > CHANCE / (len(order) - rank):
            break
        real[i] = tests[i].own < CHANCE
    return real
