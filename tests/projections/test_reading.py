"""What is answered, and when it is not: read-only, from any process, at a position that the asker names."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.log.faults import AskOutcome, ScriptedFaults
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.executions.query import SqliteExecutions
from interlock.projections.reader import ViewReader, WarmingUp
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import SHELL, whole_run

PATIENCE_S = 60.0
"""On virtual time; only a test that fails waits for it."""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    """Reads the executions of the test's directory."""
    found = ViewReader(tmp_path, EXECUTIONS)
    yield found
    found.close()


def test_a_view_that_catches_up_after_a_start_never_says_not_found(tmp_path: Path, reader: ViewReader) -> None:
    """Rows that are there are answered; what isn't there yet may come.

    Proves: PRJ-09.
    """

    async def main() -> None:
        away = ScriptedFaults()
        journals = Journals(faults=away)
        await journals.commit("executions", *whole_run("old"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
        await journals.commit("executions", *whole_run("new"))
        away.next_asks(*[AskOutcome(unavailable=True)] * 3)
        queries = SqliteExecutions(reader)
        async with projecting(journals, tmp_path) as host:
            await host.changed(1.0)
            assert queries.execution("old") is not None
            with pytest.raises(WarmingUp):
                queries.execution("new")
            await live(host)
            assert queries.execution("new") is not None
            assert queries.execution("nobody") is None

    run_virtual(main())


def test_a_view_that_was_never_made_is_warming_up(reader: ViewReader) -> None:
    with pytest.raises(WarmingUp, match="found none that serves yet"):
        SqliteExecutions(reader).executions(SHELL)


def test_a_writer_reads_what_it_wrote_or_is_told_that_it_takes_too_long(tmp_path: Path, reader: ViewReader) -> None:
    """In the process of the projector and in any other one.

    Proves: PRJ-08.
    """

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        shard = journals.shard("executions")
        async with projecting(journals, tmp_path) as host:
            assert await host.reached({shard: 2, journals.shard("routing"): 99}, PATIENCE_S)
            assert not await host.reached({shard: 3}, 2.0)
            assert not await reader.reached({shard: 3}, 2.0)
            waiting = [
                asyncio.create_task(host.reached({shard: 3}, PATIENCE_S)),
                asyncio.create_task(reader.reached({shard: 3}, PATIENCE_S)),
            ]
            await journals.commit("executions", *whole_run("two"))
            assert await asyncio.gather(*waiting) == [True, True]
            assert SqliteExecutions(reader).execution("two") is not None

    run_virtual(main())


def test_the_status_tells_position_end_and_lag(tmp_path: Path) -> None:
    """Proves: PRJ-08."""

    async def main() -> None:
        away = ScriptedFaults()
        journals = Journals(faults=away)
        append = await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            away.next_asks(*[AskOutcome(delay_s=10.0)] * 3)
            behind = await host.status()
            assert (behind.state, behind.lag, behind.shards[0].end) == ("warming up", 8, append.next_offset)
            await live(host)
            status = await host.status()
            assert (status.view, status.state, status.lag, status.error) == ("executions", "live", 0, "")
            (shard,) = status.shards
            assert (shard.position.base, shard.end, shard.lag) == (append.base, append.next_offset, 0)

    run_virtual(main())


def test_whoever_opens_the_link_finds_the_rows(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            await host.rebuild()
            connection = sqlite3.connect(f"{(tmp_path / 'executions.sqlite').as_uri()}?mode=ro", uri=True)
            assert connection.execute("SELECT execution_id, status FROM executions").fetchall() == [
                ("one", "completed")
            ]
            connection.close()

    run_virtual(main())
