"""How appends become rows: whole, once, in order; and where each failure goes."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from interlock.log.faults import AskOutcome, ScriptedFaults
from interlock.log.frame import Append
from interlock.log.port import Shard
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.executions.query import SqliteExecutions
from interlock.projections.executions.store import EXECUTIONS as RUNS
from interlock.projections.executions.store import STEPS
from interlock.projections.host import ViewHost
from interlock.projections.projector import EVENTS_PER_TRANSACTION_MAX, REST_S_MAX, RESTS, Projector
from interlock.projections.reader import ViewReader
from interlock.projections.recorded import Codec
from interlock.projections.rows import Rows
from interlock.projections.sqlite_rows import SqliteRows
from interlock.projections.status import Status
from interlock.projections.store import Place, Store
from interlock.projections.view import View
from interlock.testing.virtual_time import Jump, VirtualLoop, run_virtual
from tests.projections.journals import CODEC, Journals, event_entry, projecting
from tests.projections.stories import SHELL, of_run, started, whole_run

PATIENCE_S = 60.0
"""On virtual time; only a test that fails waits for it."""


async def caught_up(host: ViewHost) -> Status:
    """The status once the view is live and holds everything that is in the journals, or has stopped."""
    while True:
        status = await host.status()
        if status.state == "stopped" or (status.state == "live" and status.lag == 0):
            return status
        await host.changed(1.0)


def runs_of(directory: Path) -> dict[str, int]:
    """Run → how many of its steps there are."""
    reader = ViewReader(directory, EXECUTIONS)
    with reader.snapshot() as snapshot:
        runs = snapshot.select(RUNS, "1")
        steps = snapshot.select(STEPS, "1")
    reader.close()
    return {run.execution_id: sum(step.execution_id == run.execution_id for step in steps) for run in runs}


class Breaker:
    """Lets transactions fail before they are committed."""

    def __init__(self) -> None:
        self.failures = 0
        self._until_s = 0.0

    def until(self, until_s: float) -> None:
        self._until_s = until_s

    def check(self) -> None:
        if asyncio.get_running_loop().time() < self._until_s:
            self.failures += 1
            error = sqlite3.OperationalError("disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error


def test_what_was_appended_is_in_the_rows_with_its_position(tmp_path: Path) -> None:
    """Proves: PRJ-07."""

    async def main() -> None:
        journals = Journals()
        append = await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            status = await caught_up(host)
        assert runs_of(tmp_path) == {"one": 3}
        (shard,) = status.shards
        assert (shard.position.number, shard.position.id, shard.position.events) == (2, append.frame.id, 5)

    run_virtual(main())


def test_void_appends_leave_no_rows(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        await journals.void("executions", *whole_run("void"))
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
            await journals.void("executions", *whole_run("void-too"))
            await journals.commit("executions", *whole_run("two"))
            status = await caught_up(host)
        assert runs_of(tmp_path) == {"one": 3, "two": 3}
        assert status.lag == 0

    run_virtual(main())


def test_many_void_appends_neither_stall_a_view_nor_stay_in_memory(tmp_path: Path) -> None:
    """A view that has read nothing but void records has no lag (case E7)."""

    async def main() -> None:
        journals = Journals()
        for number in range(2_000):
            await journals.void("executions", *of_run(f"void-{number}", started(f"void-{number}")))
        async with projecting(journals, tmp_path) as host:
            status = await caught_up(host)
        assert (status.state, status.lag, status.shards[0].position.number) == ("live", 0, 0)

    run_virtual(main())


def test_a_restart_goes_on_behind_what_is_stored(tmp_path: Path) -> None:
    """Nothing is folded twice and nothing is left out: a count that went twice would show.

    Proves: PRJ-07.
    """

    async def main() -> None:
        journals = Journals(partitions=2)
        folded: list[tuple[int, int]] = []

        def spy(shard: Shard, append: Append, codec: Codec, rows: Rows) -> None:
            folded.append((shard.partition, append.frame.number))
            EXECUTIONS.fold(shard, append, codec, rows)

        view = View(
            name=EXECUTIONS.name,
            contexts=EXECUTIONS.contexts,
            tables=EXECUTIONS.tables,
            fold=spy,
            version=EXECUTIONS.version,
        )
        for number in range(4):
            await journals.commit("executions", *whole_run(f"run-{number}"), partition=number % 2)
            async with projecting(journals, tmp_path, view) as host:
                await caught_up(host)
        assert runs_of(tmp_path) == {f"run-{number}": 3 for number in range(4)}
        assert sorted(folded) == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]

    run_virtual(main())


def test_a_transaction_takes_many_appends_and_never_a_part_of_one(tmp_path: Path) -> None:
    """Proves: PRJ-04."""

    async def main() -> None:
        journals = Journals()
        appends = 3 * EVENTS_PER_TRANSACTION_MAX // 12
        for number in range(appends):
            await journals.commit("executions", *whole_run(f"{number}-a"), *whole_run(f"{number}-b"))
        seen: list[dict[str, int]] = []
        async with projecting(journals, tmp_path) as host:
            while not seen or len(seen[-1]) < 2 * appends:
                await host.changed(1.0)
                if (await host.status()).state == "live":
                    seen.append(runs_of(tmp_path))
        for runs in seen:
            assert set(runs.values()) == {3}
            assert len(runs) % 2 == 0

    run_virtual(main())


def test_a_reader_between_two_transactions_sees_whole_appends_only(tmp_path: Path) -> None:
    """Each append holds a pair of runs; whatever moment is looked at, both are there with all their steps or neither.

    Proves: PRJ-04.
    """

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("0-a"), *whole_run("0-b"))
        looked: set[int] = set()
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
            for number in range(1, 30):
                await journals.commit("executions", *whole_run(f"{number}-a"), *whole_run(f"{number}-b"))
                runs = runs_of(tmp_path)
                assert set(runs.values()) == {3}
                assert {name.removesuffix("-a") for name in runs if name.endswith("-a")} == {
                    name.removesuffix("-b") for name in runs if name.endswith("-b")
                }
                looked.add(len(runs))
                await host.changed(1.0)
        assert len(looked) > 5

    run_virtual(main())


@pytest.mark.parametrize("took_s", [0.002, 1.0])
def test_a_lone_append_is_stored_at_once_and_those_close_behind_it_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took_s: float
) -> None:
    """Behind a transaction a view rests for a few times as long as that took, and never long."""
    jump = Jump()
    rest_s = min(RESTS * took_s, REST_S_MAX)
    transactions: list[int] = []
    transact = Store.transact

    def counting(self: Store, fold: Callable[[SqliteRows], None], places: Mapping[Shard, Place]) -> None:
        transactions.append(max(place.position.number for place in places.values()))
        transact(self, fold, places)
        jump.now_s += took_s

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("before"))
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
            for _ in range(3):
                await asyncio.sleep(rest_s)
                begun_s = asyncio.get_running_loop().time()
                transactions.clear()
                first = last = await journals.commit("executions", *whole_run(f"first-{begun_s}"))
                shard = journals.shard("executions")
                assert await host.reached({shard: first.frame.number}, PATIENCE_S)
                assert asyncio.get_running_loop().time() == pytest.approx(begun_s + took_s)
                for number in range(10):
                    last = await journals.commit("executions", *whole_run(f"{number}-{begun_s}"))
                assert await host.reached({shard: last.frame.number}, PATIENCE_S)
                assert transactions == [first.frame.number, last.frame.number]
                assert asyncio.get_running_loop().time() == pytest.approx(begun_s + took_s + rest_s + took_s)

    monkeypatch.setattr(Store, "transact", counting)
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(jump)) as runner:
        runner.run(main())


def test_whoever_waits_for_news_of_a_view_is_woken_once_for_what_is_stored_together(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        shard = journals.shard("executions")
        await journals.commit("executions", *whole_run("before"))
        told: list[int] = []
        with closing(Store(tmp_path / "executions.sqlite", EXECUTIONS)) as opened:
            projector = Projector(
                EXECUTIONS,
                opened,
                log=journals.log,
                topic_ids=journals.log,
                codec=CODEC,
                shards=[shard],
                changed=lambda: told.append(projector.position(shard).number),
            )
            running = asyncio.create_task(projector.run())
            await asyncio.sleep(1)
            assert projector.caught_up
            told.clear()
            for name in ("one", "two", "three"):
                await journals.commit("executions", *whole_run(name))
                await asyncio.sleep(1)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert told == [3, 4, 5]

    run_virtual(main())


def test_a_log_that_is_away_is_waited_for_and_said_to_be(tmp_path: Path) -> None:
    async def main() -> None:
        away = [AskOutcome(unavailable=True)] * 4
        journals = Journals(faults=ScriptedFaults(asks=away))
        await journals.commit("executions", *whole_run("one"))
        reasons: set[str] = set()
        host = journals.host(EXECUTIONS, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(60.0)
            reasons.add(host.waiting_for)
        assert runs_of(tmp_path) == {"one": 3}
        assert host.waiting_for == ""
        await host.close()
        assert any("ask again later" in reason for reason in reasons)

    run_virtual(main())


def test_a_file_that_is_away_is_waited_for_and_each_append_applied_once(
    tmp_path: Path, broken_store: Breaker, caplog: pytest.LogCaptureFixture
) -> None:
    """The store fails in the middle of its transactions; afterwards the rows are those of one application (case E6).

    Proves: PRJ-07.
    """

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
            broken_store.until(asyncio.get_running_loop().time() + 3.0)
            for number in range(20):
                await journals.commit("executions", *whole_run(f"more-{number}"))
            while not host.waiting_for:
                await host.changed(1.0)
            assert "disk is full" in host.waiting_for
            await caught_up(host)
            assert host.waiting_for == ""
            live = host.digest()
        assert broken_store.failures >= 2
        (told,) = [record.message for record in caplog.records if "waits" in record.message]
        assert told.startswith("the view executions waits: expected to use ")
        assert "disk is full" in told
        async with projecting(journals, tmp_path / "fresh") as host:
            await caught_up(host)
            assert host.digest() == live

    run_virtual(main())


def test_an_event_that_cannot_be_folded_stops_the_view_behind_the_append_before_it(tmp_path: Path) -> None:
    """What came before in the same transaction is kept, what is behind is not touched, and the reason is told."""

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        orphan = whole_run("orphan")[1:]
        await journals.commit("executions", *orphan)
        await journals.commit("executions", *whole_run("behind"))
        async with projecting(journals, tmp_path) as host:
            status = await caught_up(host)
            assert status.state == "stopped"
            assert "executions.ActivityCompleted of 'execution:orphan' at revision 1" in status.error
            assert status.shards[0].position.number == 2
            assert not host.caught_up

    run_virtual(main())


def test_bytes_that_no_release_knows_stop_the_view(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        good = event_entry("execution:odd", 1, started("odd"))
        await journals.raw(journals.shard("executions"), [type(good)("event", good.key, b"\xc3\x01odd", good.headers)])
        async with projecting(journals, tmp_path) as host:
            status = await caught_up(host)
            assert status.state == "stopped"
            assert "expected an event that this release can read" in status.error

    run_virtual(main())


async def recreate_empty(journals: Journals) -> None:
    journals.recreate("executions")


async def recreate_other(journals: Journals) -> None:
    journals.recreate("executions")
    for number in range(20):
        await journals.commit("executions", *whole_run(f"other-{number}"))


async def cut_at_the_last_append(journals: Journals) -> None:
    partition = journals.broker.partition(journals.shard("executions"))
    kept = partition.records[: partition.extent.end - 7]
    partition.records = kept


async def cut_before(journals: Journals) -> None:
    partition = journals.broker.partition(journals.shard("executions"))
    partition.records = partition.records[:2]


async def trim_the_head(journals: Journals) -> None:
    journals.broker.trim(
        journals.shard("executions"), journals.broker.partition(journals.shard("executions")).extent.end
    )


@pytest.mark.parametrize("change", [recreate_empty, recreate_other, cut_at_the_last_append, cut_before, trim_the_head])
def test_a_log_that_is_not_the_one_of_the_position_stops_the_view_in_seconds(
    tmp_path: Path, change: Callable[[Journals], Awaitable[None]]
) -> None:
    """Whatever shape the log has, the view says so and what to do, and keeps its rows (case E8)."""

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        await journals.commit("executions", *whole_run("two"))
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
        await change(journals)
        async with projecting(journals, tmp_path) as host:
            begun_s = asyncio.get_running_loop().time()
            status = await caught_up(host)
            assert asyncio.get_running_loop().time() - begun_s < 5.0
            assert status.state == "stopped"
            assert "then rebuild the view" in status.error
            assert ("the log's beginning is gone" in status.error) == (change is trim_the_head)
            assert runs_of(tmp_path) == {"one": 3, "two": 3}

    run_virtual(main())


def test_a_view_that_begins_on_a_trimmed_log_says_that_it_cannot_be_whole(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        await trim_the_head(journals)
        async with projecting(journals, tmp_path) as host:
            status = await caught_up(host)
            assert status.state == "stopped"
            assert "no longer holds what the view is made from" in status.error

    run_virtual(main())


def test_a_log_that_is_recreated_while_it_is_read_stops_the_view(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        for number in range(5):
            await journals.commit("executions", *whole_run(f"run-{number}"))
        async with projecting(journals, tmp_path) as host:
            await caught_up(host)
            await recreate_other(journals)
            while not host.error:
                await host.changed(60.0)
            assert "executions.journal" in host.error
            assert set(runs_of(tmp_path)) == {f"run-{number}" for number in range(5)}

    run_virtual(main())


def test_each_shard_is_read_whatever_another_one_holds(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals(partitions=3)
        for number in range(600):
            await journals.commit("executions", *whole_run(f"busy-{number}"))
        await journals.commit("executions", *whole_run("quiet"), partition=2)
        async with projecting(journals, tmp_path) as host:
            assert await host.reached({journals.shard("executions", 2): 2}, PATIENCE_S)
            assert (await host.status()).shards[0].position.number < 600
            await caught_up(host)
        reader = ViewReader(tmp_path, EXECUTIONS)
        assert SqliteExecutions(reader).count(SHELL) == {"completed": 601}
        reader.close()

    run_virtual(main())


@pytest.fixture
def broken_store(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    """Stores whose transactions fail for some time, after the rows were written and before they are committed."""
    breaker = Breaker()
    transact = Store.transact

    def failing(self: Store, fold: Callable[[SqliteRows], None], places: Mapping[Shard, Place]) -> None:
        def fold_and_fail(rows: SqliteRows) -> None:
            fold(rows)
            rows.flush()
            breaker.check()

        transact(self, fold_and_fail, places)

    monkeypatch.setattr(Store, "transact", failing)
    return breaker
