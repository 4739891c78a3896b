"""The broker that the benchmark uses: one that $INTERLOCK_BENCH_KAFKA names, else one of its own on a free port."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ops.kafka import Cluster

VARIABLE = "INTERLOCK_BENCH_KAFKA"


@contextmanager
def broker(folder: Path) -> Generator[str]:
    """Gives `host:port`. Raises `KafkaMissing` where none can be had."""
    named = os.environ.get(VARIABLE)
    if named:
        yield named
        return
    with Cluster(folder) as cluster:
        yield cluster.bootstrap
