"""E8: whatever state a journal's topic is in, a view over it is either filled or says what is wrong and what to do; it
never waits in silence."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from interlock.log.frame import Append
from interlock.log.port import TopicSpec
from interlock.projections.host import ViewHost
from tests.cases.kafka_journals import Held, KafkaJournal, kafka_journal, live, transactions

pytestmark = [pytest.mark.cases, pytest.mark.kafka]

JUDGED_S = 5.0
"""From its start on, in which a view has to be live, or to have said why it is not; a tenth of one is usual."""
PATIENCE_S = 30.0
"""How long anything else may take."""


@asynccontextmanager
async def judged(journal: KafkaJournal, directory: Path) -> AsyncGenerator[ViewHost, None]:
    """A view that is live with everything, or has said why it is not."""
    began_s = time.monotonic()
    async with journal.projected(directory) as host:
        async with asyncio.timeout(PATIENCE_S):
            await live(host)
        assert time.monotonic() - began_s < JUDGED_S
        yield host


async def test_a_journal_that_holds_nothing_yet_is_filled_at_once(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Nobody has kept a position (-1001), and there is next to nothing to read."""
    async with kafka_journal(kafka_bootstrap) as journal, judged(journal, tmp_path) as host:
        assert (host.error, (await host.status()).state) == ("", "live")


async def test_a_journal_whose_last_record_is_the_end_of_a_transaction_is_read_to_its_end(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    """By a view, and by who takes the journal over.

    Proves: PRJ-07, OWN-01.
    """
    async with (
        asyncio.timeout(2 * PATIENCE_S),
        kafka_journal(kafka_bootstrap) as journal,
        transactions(journal) as others,
    ):
        await journal.run("one")
        await others.begin_transaction()
        await others.send_and_wait(journal.shard.topic, b"taken back", partition=0)
        await others.abort_transaction()
        async with judged(journal, tmp_path) as host:
            assert (host.error, (await host.status()).lag) == ("", 0)
            await journal.take()
            await journal.run("two")
            await live(host)
            assert (host.error, (await host.status()).lag) == ("", 0)


async def test_a_topic_that_is_compacted_is_named_with_what_to_set(kafka_bootstrap: str) -> None:
    """What compaction took can't be told from what never was, so no process starts on such a journal.

    Proves: LOG-07.
    """
    async with kafka_journal(kafka_bootstrap) as journal:
        topic = f"{journal.shard.topic}.compacted"
        await journal.log.create([TopicSpec(name=topic, partitions=1, compacted=True)])
        faults = await journal.log.check([TopicSpec(name=topic, partitions=1)])
        assert {each.setting for each in faults} >= {"cleanup.policy"}
        assert all(each.remedy for each in faults)


async def test_a_journal_that_was_compacted_stops_a_view_that_begins(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Each append names the one before it, so what compaction took is missed.

    Proves: PRJ-06 (a part is never shown as the whole).
    """
    async with kafka_journal(kafka_bootstrap, compacted=True) as journal, asyncio.timeout(PATIENCE_S):
        last = await journal.run("one")
        while await records(journal, last) == last.base + last.frame.size:
            last = await journal.run("one")  # the segment that is written to is never compacted
        async with judged(journal, tmp_path) as host:
            assert not host.caught_up
            assert all(words in host.error for words in (journal.shard.topic, "have changed", "interlock topics check"))


async def records(journal: KafkaJournal, last: Append) -> int:
    """How many there are up to the end of an append."""
    reader, count = journal.log.reader(journal.shard, 0), 0
    try:
        while reader.next_offset < last.base + last.frame.size:
            count += len(await reader.read(1.0))
    finally:
        await reader.close()
    return count


async def test_a_head_that_is_cut_while_a_view_is_filled_stops_it(kafka_bootstrap: str, tmp_path: Path) -> None:
    """It has seen that the log is whole, and has read nothing of it yet.

    Proves: PRJ-06 (a part is never shown as the whole).
    """
    async with kafka_journal(kafka_bootstrap) as journal, asyncio.timeout(PATIENCE_S):
        await journal.run("one")
        second = await journal.run("two")
        held = Held(journal.log)
        async with journal.projected(tmp_path, held) as host:
            await held.begun.wait()
            await journal.log.trim(journal.shard, second.base)
            began_s = time.monotonic()
            held.goes_on.set()
            await live(host)
            assert time.monotonic() - began_s < JUDGED_S
            assert not host.caught_up
            assert "restore the view or the log from a backup" in host.error


async def test_a_head_that_is_gone_stops_a_view_that_begins(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Proves: PRJ-06 (a part is never shown as the whole)."""
    async with kafka_journal(kafka_bootstrap) as journal:
        await journal.run("one")
        second = await journal.run("two")
        await journal.log.trim(journal.shard, second.base)
        async with judged(journal, tmp_path) as host:
            assert not host.caught_up
            assert "restore the view or the log from a backup" in host.error


async def test_a_head_that_is_cut_beyond_a_views_place_stops_it(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Its place is below what the log still holds."""
    async with kafka_journal(kafka_bootstrap) as journal:
        await journal.run("one")
        async with judged(journal, tmp_path) as host:
            assert host.error == ""
        await journal.run("two")
        third = await journal.run("three")
        await journal.log.trim(journal.shard, third.base)
        async with judged(journal, tmp_path) as host:
            assert all(words in host.error for words in (journal.shard.topic, "expected", "found", "rebuild the view"))


async def test_a_head_that_is_cut_below_a_views_place_is_nothing_to_it(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Proves: PRJ-07. E18."""
    async with kafka_journal(kafka_bootstrap) as journal:
        await journal.run("one")
        second = await journal.run("two")
        async with judged(journal, tmp_path) as host:
            before = host.digest()
        await journal.log.trim(journal.shard, second.base)
        async with judged(journal, tmp_path) as host:
            assert (host.error, host.digest()) == ("", before)
            await journal.run("three")
            await live(host)
            assert (host.error, host.digest() == before) == ("", False)


async def test_a_topic_that_was_made_anew_is_recognised(kafka_bootstrap: str, tmp_path: Path) -> None:
    """Proves: LOG-07."""
    async with kafka_journal(kafka_bootstrap) as journal:
        await journal.run("one")
        async with judged(journal, tmp_path) as host:
            assert host.error == ""
        await journal.log.delete(journal.shard.topic)
        await journal.log.create([TopicSpec(name=journal.shard.topic, partitions=1)])
        async with judged(journal, tmp_path) as host:
            assert "the topic was made anew" in host.error
