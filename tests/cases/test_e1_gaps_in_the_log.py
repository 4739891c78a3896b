"""E1: transactions of others, in flight, taken back or committed, leave gaps in a journal's offsets. A view passes
them, loses nothing behind them, and never waits for one to end."""

import asyncio
from pathlib import Path

import pytest

from interlock.projections.executions.fold import VIEW
from interlock.projections.executions.store import EXECUTIONS
from interlock.projections.reader import ViewReader
from tests.cases.kafka_journals import kafka_journal, live, transactions

pytestmark = [pytest.mark.cases, pytest.mark.kafka]

PATIENCE_S = 60.0


def runs(directory: Path) -> set[str]:
    """The runs that the view knows."""
    reader = ViewReader(directory, VIEW)
    try:
        with reader.snapshot() as snapshot:
            return {row.execution_id for row in snapshot.select(EXECUTIONS, "1")}
    finally:
        reader.close()


async def test_what_counts_is_projected_around_transactions_of_others(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Proves: PRJ-07, LOG-01."""
    expected: set[str] = set()
    async with (
        asyncio.timeout(PATIENCE_S),
        kafka_journal(kafka_bootstrap) as journal,
        journal.projected(tmp_path / "live") as host,
        transactions(journal) as slow,
        transactions(journal) as quick,
    ):

        async def run(name: str) -> None:
            await journal.run(name)
            expected.add(name)

        await slow.begin_transaction()
        await slow.send_and_wait(journal.shard.topic, b"in flight", partition=0)
        for number in range(6):
            await run(f"before-{number}")
            await quick.begin_transaction()
            for _ in range(3):
                await quick.send_and_wait(journal.shard.topic, b"a stranger's", partition=0)
            await (quick.abort_transaction() if number % 2 else quick.commit_transaction())
            await run(f"behind-{number}")
        # One is still in flight, with records before all of these.
        while runs(tmp_path / "live") != expected:
            assert not host.error
            await host.changed(0.2)
        await slow.abort_transaction()
        await run("last")
        await slow.begin_transaction()
        await slow.send_and_wait(journal.shard.topic, b"at the end", partition=0)
        await slow.abort_transaction()
        await live(host)
        assert (host.error, runs(tmp_path / "live")) == ("", expected)
        async with journal.projected(tmp_path / "anew") as anew:
            await live(anew)
            assert (anew.error, anew.digest()) == ("", host.digest())
