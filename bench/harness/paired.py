"""Medians, and ratios of runs that were made as pairs."""

import random
import statistics

_RESAMPLES = 5000


def median(values):
    return statistics.median(values) if values else None


def interval(values, confidence=0.95, seed=1):
    """The bootstrap interval of the median: percentiles of the medians of resampled values. None under 3 values."""
    if len(values) < 3:
        return None
    source = random.Random(seed)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    cut = (1 - confidence) / 2
    return medians[int(cut * _RESAMPLES)], medians[min(_RESAMPLES - 1, int((1 - cut) * _RESAMPLES))]


def ratios(subject, reference):
    """subject/reference for every round that both have. Each maps a round to a value."""
    return [subject[r] / reference[r] for r in sorted(subject.keys() & reference.keys()) if reference[r] > 0]
