"""Verifying a view: every row is compared with a fresh fold at the same appends, and nothing is changed."""

import asyncio
from pathlib import Path

import pytest

from interlock.projections.compare import KeyedRow, Tally, differences
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.files import ViewFiles
from interlock.projections.history.fold import VIEW as HISTORY
from interlock.projections.host import RebuildUnderWay
from interlock.projections.status import Verified
from interlock.projections.view import View
from interlock.projections.views import VIEWS
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import activation, candidate, prepared, routed, whole_run
from tests.support import tampering


def told(verified: Verified) -> dict[str, Tally]:
    return {table.name: table.differ for table in verified.tables if table.differ.rows}


async def filled(journals: Journals, runs: int = 3) -> None:
    await journals.commit("publishing", *candidate("p1"))
    await journals.commit("publishing", *prepared("p1"))
    await journals.commit("publishing", *activation("p1", revision=1))
    for number in range(runs):
        await journals.commit("routing", routed(f"s{number}", starts=(f"e{number}",)))
        await journals.commit("executions", *whole_run(f"e{number}"))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_that_nobody_touched_is_as_the_journals_say(tmp_path: Path, view: View) -> None:
    """Proves: PRJ-06 (the same rows from the log alone)."""

    async def main() -> None:
        journals = Journals()
        await filled(journals)
        async with projecting(journals, tmp_path, view) as host:
            await live(host)
            verified = await host.verify()
            assert told(verified) == {}
            assert not verified.differs
            assert sum(table.rows for table in verified.tables) > 0
            assert {shard: at.number for shard, at in verified.positions.items()} == {
                each.shard: each.position.number for each in (await host.status()).shards
            }
            assert not ViewFiles(tmp_path, view.name).verification.exists()

    run_virtual(main())


def test_rows_that_were_changed_behind_its_back_are_told_and_left_as_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await filled(journals)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            before = host.digest()
            file = ViewFiles(tmp_path, "executions").link
            tampering.change(
                file,
                "DELETE FROM executions WHERE execution_id = 'e0'",
                "UPDATE executions SET status = 'running' WHERE execution_id = 'e1'",
                "INSERT INTO executions SELECT 'ghost', " + _rest("executions") + " WHERE execution_id = 'e2'",
            )
            changed = host.digest()
            verified = await host.verify()
            tally = told(verified)["executions"]
            assert (tally.missing, tally.changed, tally.foreign) == (1, 1, 1)
            assert set(tally.samples) == {("missing", "e0"), ("changed", "e1"), ("foreign", "ghost")}
            assert host.digest() == changed != before
            # A rebuild is the remedy, and says by its digests what it mended.
            rebuilt = await host.rebuild(compare=True)
            assert (rebuilt.replaced_digest, rebuilt.rebuilt_digest) == (changed, before)
            assert not (await host.verify()).differs

    run_virtual(main())


def test_it_is_compared_at_one_position_while_events_come(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await filled(journals, 300)
        async with projecting(journals, tmp_path, HISTORY) as host:
            await live(host)
            verifying = asyncio.create_task(host.verify())
            number = 0
            while not verifying.done():
                await journals.commit("executions", *whole_run(f"late-{number}"))
                number += 1
                await asyncio.sleep(0)
            assert number > 1
            assert not verifying.result().differs
            # The view has gone on meanwhile, and goes on.
            await journals.commit("executions", *whole_run("last"))
            await live(host)

    run_virtual(main())


def test_a_view_that_has_stopped_is_verified_where_it_stands(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("e1"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            # An event that can't be folded: nothing began this run.
            await journals.commit("executions", *whole_run("e2")[1:])
            while not host.error:
                await host.changed(1.0)
            verified = await host.verify()
            assert [at.number for at in verified.positions.values()] == [2]
            assert not verified.differs

    run_virtual(main())


def test_a_view_is_verified_or_rebuilt_but_not_both(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await filled(journals)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            verifying = asyncio.create_task(host.verify())
            await asyncio.sleep(0)
            assert (host.working, host.verifying is None) == ("verify", False)
            for work in (host.rebuild, host.drop, host.verify):
                with pytest.raises(RebuildUnderWay):
                    await work()
            await verifying
            assert (host.working, host.verifying) == ("", None)

    run_virtual(main())


def test_what_a_verification_left_behind_goes_at_the_next_start(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await filled(journals)
        left = ViewFiles(tmp_path, EXECUTIONS.name).verification
        left.write_bytes(b"half a file")
        async with projecting(journals, tmp_path) as host:
            assert not left.exists()
            await live(host)
            assert (await host.status()).generation == 1

    run_virtual(main())


def test_differences_are_found_in_the_order_of_the_keys() -> None:
    expected = [KeyedRow((key,), (value,)) for key, value in (("a", 1), ("b", 2), ("d", 4))]
    found = [KeyedRow((key,), (value,)) for key, value in (("b", 2), ("c", 3), ("d", 5), ("e", 6))]
    assert [(each.kind, each.key) for each in differences(expected, found)] == [
        ("missing", ("a",)),
        ("foreign", ("c",)),
        ("changed", ("d",)),
        ("foreign", ("e",)),
    ]


def _rest(table: str) -> str:
    """Every column but the first, and where from."""
    (found,) = [each for each in EXECUTIONS.tables if each.name == table]
    return f"{', '.join(list(found.columns)[1:])} FROM {table}"
