"""Average, variance and trend of the last known losses, by TrainWatch's rules."""

import math

AVERAGE_WANTS = 5
TREND_WANTS = 10
TREND_SHARE = 0.05  # of the first half's mean: a smaller change is "stable"
SPIKE_FACTOR = 5.0
NO_VARIANCE = 1e-8  # a smaller baseline is useless for comparison


def _mean(values):
    return sum(values) / len(values)


class LossTracker:
    """The losses in a Watcher's window: a view that refers to its watcher, not the reverse."""

    def __init__(self, watcher):
        self._watcher = watcher

    @property
    def losses(self):
        """Oldest first."""
        return self._watcher._losses()

    @property
    def variance_baseline(self):
        return self._watcher._variance_baseline

    @variance_baseline.setter
    def variance_baseline(self, variance):
        self._watcher._variance_baseline = variance

    def get_moving_average(self):
        """None: fewer than five are known."""
        losses = self.losses
        return _mean(losses) if len(losses) >= AVERAGE_WANTS else None

    def get_variance(self):
        """None: fewer than ten are known."""
        losses = self.losses
        if len(losses) < TREND_WANTS:
            return None
        mean = _mean(losses)
        return _mean([(x - mean) ** 2 for x in losses])

    def set_variance_baseline(self):
        variance = self.get_variance()
        if variance is not None:
            self.variance_baseline = variance

    def detect_variance_spike(self, threshold=SPIKE_FACTOR):
        variance, baseline = self.get_variance(), self.variance_baseline
        if variance is None or baseline is None or not baseline >= NO_VARIANCE:
            return False
        return variance > baseline * threshold

    def get_trend(self):
        """"decreasing", "stable", "increasing"; None: too few losses, or not finite."""
        losses = self.losses
        if len(losses) < TREND_WANTS:
            return None
        middle = len(losses) // 2
        first, second = _mean(losses[:middle]), _mean(losses[middle:])
        change = second - first
        if not math.isfinite(change):
            return None
        least = TREND_SHARE * abs(first) if first != 0 else 0.01
        if abs(change) <= least:
            return "stable"
        return "increasing" if change > 0 else "decreasing"
