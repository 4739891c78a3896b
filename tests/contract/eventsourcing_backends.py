"""The environment in which the library's own test cases find a recorder: one mixin for each backend.

The cases are classes of `unittest`, which can't be parametrised, so each is bound to each backend by a class.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from eventsourcing.utils import Environment

MODULE = "interlock.log.recorder"


class OnBackend:
    """What the cases ask for."""

    env: Environment
    """As an application would find it, for a log that no other test has."""

    def settle(self, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]) -> Iterator[None]:
        """Puts the environment where the library looks for it; closes what a case has left open."""
        self.env = Environment("Bench", env)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield
        gc.collect()


class OnSqlite(OnBackend):
    """A log in a file of its own."""

    @pytest.fixture(autouse=True)
    def _environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        yield from self.settle(monkeypatch, sqlite_env(tmp_path))


@pytest.mark.kafka
class OnKafka(OnBackend):
    """Topics of their own on the session's broker."""

    @pytest.fixture(autouse=True)
    def _environment(self, kafka_bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        yield from self.settle(monkeypatch, kafka_env(kafka_bootstrap, tmp_path))


def sqlite_env(folder: Path) -> dict[str, str]:
    """A log and its indexes below a folder."""
    log = f"sqlite:///{folder / 'log.sqlite'}"
    return {"PERSISTENCE_MODULE": MODULE, "INTERLOCK_LOG": log, "INTERLOCK_DATA": str(folder)}


def kafka_env(bootstrap: str, folder: Path) -> dict[str, str]:
    """Topics with a prefix of their own, and indexes below a folder."""
    log = f"kafka://{bootstrap}?prefix=recorder-{uuid4().hex[:12]}"
    return {"PERSISTENCE_MODULE": MODULE, "INTERLOCK_LOG": log, "INTERLOCK_DATA": str(folder)}


def environment() -> dict[str, str]:
    """What a process of its own was given of them."""
    return {name: value for name, value in os.environ.items() if name.startswith("INTERLOCK_")}
