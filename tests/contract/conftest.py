"""Runs each test that asks for a `backend` on all that are registered in `tests.contract.backends`.

The marker `backends` limits a test to some, such as to those that several processes can share. Whatever a test opens
is closed after it. What asks for an `env` has a recorder on each log that recorders are for.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from interlock.log.port import Log
from tests.contract.backends import BACKENDS, MARKS, Admin, Backend
from tests.contract.eventsourcing_backends import kafka_env, sqlite_env


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "backends(*names): the backends of the log that a contract test is limited to")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each backend."""
    if "backend" in metafunc.fixturenames:
        wanted = [name for mark in metafunc.definition.iter_markers("backends") for name in mark.args]
        metafunc.parametrize(
            "backend",
            [
                pytest.param(name, marks=MARKS.get(name, ()), id=name)
                for name in BACKENDS
                if not wanted or name in wanted
            ],
            indirect=True,
        )


@pytest.fixture
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """The log under test, empty or with topics of other tests."""
    backend = BACKENDS[request.param](request)
    yield backend
    for opened in backend.opened:
        await opened.log.close()


@pytest.fixture
def make_log(backend: Backend) -> Callable[[], Awaitable[tuple[Log, Admin]]]:
    """Opens one more connection to the log under test, as another process would."""

    async def make() -> tuple[Log, Admin]:
        opened = backend.open()
        return opened.log, opened.admin

    return make


@pytest.fixture(params=["sqlite", pytest.param("kafka", marks=pytest.mark.kafka)])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of an application with a recorder, on a log that no other test has."""
    if request.param == "sqlite":
        return sqlite_env(tmp_path)
    return kafka_env(request.getfixturevalue("kafka_bootstrap"), tmp_path)
