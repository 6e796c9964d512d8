"""Whether differences are more than chance: Student's t of pairs, Holm over all of them."""

import math

CHANCE = 0.05  # that one of all differences is called real though none is
LEAST_PAIRS = 3  # two values tell next to nothing of their spread


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


def chance_of(differences):
    """That they come about where the true difference is 0; None: there are too few."""
    count = len(differences)
    if count < LEAST_PAIRS:
        return None
    mean = math.fsum(differences) / count
    variance = math.fsum((d - mean) ** 2 for d in differences) / (count - 1)
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided(mean / math.sqrt(variance / count), count - 1)


def real_ones(chances):
    """Which of these chances are small enough, all taken together: Holm's procedure."""
    order = sorted((p, i) for i, p in enumerate(chances) if p is not None)
    real = [False] * len(chances)
    for rank, (p, i) in enumerate(order):
        if p > CHANCE / (len(order) - rank):
            break
        real[i] = True
    return real
