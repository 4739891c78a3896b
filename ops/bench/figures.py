"""Medians, percentiles and spread, and what is counted of a process."""

import math
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """A figure over the rounds."""

    median: float
    low: float
    """The smallest of the rounds."""
    high: float
    """The largest of the rounds."""


def spread(values: Sequence[float]) -> Spread:
    """The median of some rounds with the smallest and the largest. Raises `ValueError` for none."""
    if not values:
        raise ValueError("expected at least one round, found none")
    return Spread(statistics.median(values), min(values), max(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of all do not exceed (nearest rank)."""
    if not values:
        raise ValueError("expected at least one value, found none")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


class Used(NamedTuple):
    """What a process has used."""

    cpu_s: float
    """CPU seconds of all its threads, since its start."""
    memory_mb: float
    """The most memory that it ever held, in MB."""


def used() -> Used:
    """What this process has used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return Used(time.process_time(), peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))
