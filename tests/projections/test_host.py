"""The life of a view: who may hold it, rebuilding beside, swapping, dropping, and what is said meanwhile."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.log.frame import Append
from interlock.log.port import Shard
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.executions.query import SqliteExecutions
from interlock.projections.files import ViewFiles, ViewHeld
from interlock.projections.host import RebuildUnderWay
from interlock.projections.projector import ViewStopped
from interlock.projections.reader import ViewReader, WarmingUp
from interlock.projections.recorded import Codec
from interlock.projections.rows import Rows
from interlock.projections.store import Store, StoreAway
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from interlock.projections.view import FoldAppend, View
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import PLACED, SHELL, activation, candidate, prepared, whole_run

PATIENCE_S = 60.0
"""On virtual time; only a test that fails waits for it."""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    """Reads the executions of the test's directory."""
    found = ViewReader(tmp_path, EXECUTIONS)
    yield found
    found.close()


# ---- holding --------------------------------------------------------------------------------------------------------


def test_a_view_has_one_holder_and_the_second_is_told_who(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        async with projecting(journals, tmp_path):
            with pytest.raises(ViewHeld, match=r"expected to hold the view 'executions'.*locked by process \d+"):
                await journals.host(EXECUTIONS, tmp_path).start()
        async with projecting(journals, tmp_path):
            pass

    run_virtual(main())


def test_a_view_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from interlock.projections.files import ViewFiles; "
        "ViewFiles(Path(sys.argv[1]), 'executions').hold(); print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": "src"},
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        files = ViewFiles(tmp_path, "executions")
        assert not ViewFiles(tmp_path, "slots").held()
        assert files.held()
        with pytest.raises(ViewHeld, match=f"locked by process {child.pid};"):
            files.hold()
        child.kill()
        child.wait()
        assert not files.held()
        files.hold()
        files.let_go()
    finally:
        child.kill()
        child.communicate()


# ---- rebuilding -----------------------------------------------------------------------------------------------------


def test_three_rebuilds_give_the_same_rows_each_time(tmp_path: Path) -> None:
    """Each rebuild begins anew from the log alone (case E3).

    Proves: PRJ-06.
    """

    async def main() -> None:
        journals = Journals(partitions=2)
        for number in range(40):
            await journals.commit("executions", *whole_run(f"run-{number}"), partition=number % 2)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            first = host.digest()
            for generation in (2, 3, 4):
                rebuilt = await host.rebuild(compare=True)
                assert rebuilt.rebuilt_digest == rebuilt.replaced_digest == host.digest() == first
                assert (await host.status()).generation == generation
            assert ViewFiles(tmp_path, "executions").generations() == [4]

    run_virtual(main())


def test_a_rebuild_under_traffic_never_lets_a_question_be_answered_wrongly(tmp_path: Path) -> None:
    """A publication is replaced again and again while the index is rebuilt; every probe meets exactly one authority,
    which never goes back; and at the swap both copies are at the same appends with the same rows (case E4).

    Proves: PRJ-04, PRJ-06.
    """

    async def main() -> None:
        journals = Journals()
        await journals.commit("publishing", *candidate("p0"))
        await journals.commit("publishing", *prepared("p0"), *activation("p0", revision=1))
        stopped = asyncio.Event()
        probes: list[int] = []
        active = 0
        reader = ViewReader(tmp_path, TRIGGER_INDEX)
        index = SqliteTriggerIndex(reader)

        def probe() -> None:
            (binding,) = index.authoritative(SHELL, PLACED)
            probes.append(int(binding.publication_id.removeprefix("p")))

        async def republish() -> None:
            nonlocal active
            while not stopped.is_set():
                number = active + 1
                name, before = f"p{number}", f"p{active}"
                await journals.commit("publishing", *candidate(name, revision=number))
                probe()
                await journals.commit(
                    "publishing", *prepared(name), *activation(name, revision=number + 1, replaces=before)
                )
                active = number
                probe()
                await asyncio.sleep(0)

        async with projecting(journals, tmp_path, TRIGGER_INDEX) as host:
            await live(host)
            publisher = asyncio.create_task(republish())
            for _ in range(5):
                before = active
                rebuilt = await host.rebuild(compare=True)
                assert active > before
                assert rebuilt.rebuilt_digest == rebuilt.replaced_digest
                probe()
            stopped.set()
            await publisher
            await live(host)
            probe()
            assert probes[-1] == active
            assert probes == sorted(probes)
        reader.close()

    run_virtual(main())


def test_a_crash_at_any_point_of_a_rebuild_leaves_a_copy_that_serves_and_the_next_start_ends_it(tmp_path: Path) -> None:
    """The files are taken as they are at each step, as a crash would leave them. Whichever copy serves then is whole,
    and the next start ends the rebuild with the rows of a full replay (case E11).

    Proves: PRJ-06.
    """

    async def main() -> None:
        journals = Journals()
        for number in range(800):
            await journals.commit("executions", *whole_run(f"run-{number}"))
        taken: dict[tuple[int | None, int], Path] = {}
        async with projecting(journals, tmp_path / "live") as host:
            await live(host)
            expected = host.digest()
            rebuild = asyncio.create_task(host.rebuild())
            while not rebuild.done():
                progress = (await host.status()).rebuild
                done = 0 if progress is None else progress.appends_done
                step = (ViewFiles(tmp_path / "live", "executions").serving(), done)
                if step not in taken:
                    taken[step] = tmp_path / f"crashed-{len(taken)}"
                    shutil.copytree(tmp_path / "live", taken[step], symlinks=True)
                await host.changed(1.0)
        assert any(0 < done < 801 for _, done in taken)
        assert {generation for generation, _ in taken} == {1, 2}
        for (generation, _), directory in taken.items():
            reader = ViewReader(directory, EXECUTIONS)
            assert SqliteExecutions(reader).count(SHELL) == {"completed": 800}
            async with projecting(journals, directory) as host:
                begun = await host.status()
                assert begun.generation == generation
                while (status := await host.status()).rebuild is not None or not host.caught_up:
                    await host.changed(1.0)
                assert status.generation == max(ViewFiles(directory, "executions").generations())
                assert host.digest() == expected
                assert SqliteExecutions(reader).count(SHELL) == {"completed": 800}
            reader.close()

    run_virtual(main())


def test_what_a_killed_rebuild_has_stored_is_not_folded_again(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        for number in range(800):
            await journals.commit("executions", *whole_run(f"run-{number}"))
        folded: list[int] = []

        def spy(shard: Shard, append: Append, codec: Codec, rows: Rows) -> None:
            folded.append(append.frame.number)
            EXECUTIONS.fold(shard, append, codec, rows)

        view = with_fold(spy)
        async with projecting(journals, tmp_path, view) as host:
            await live(host)
            rebuild = asyncio.create_task(host.rebuild())
            while (progress := (await host.status()).rebuild) is None or progress.appends_done == 0:
                await host.changed(1.0)
        with pytest.raises(ViewStopped):
            await rebuild
        assert sorted(set(folded)) == list(range(2, 802)) or sorted(set(folded)) == list(range(1, 802))
        async with projecting(journals, tmp_path, view) as host:
            while (await host.status()).generation == 1:
                await host.changed(1.0)
        assert len(folded) == 2 * 801

    run_virtual(main())


def test_a_rebuild_that_cannot_be_filled_leaves_the_old_copy_and_no_other(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        broken = [False]

        def fold(shard: Shard, append: Append, codec: Codec, rows: Rows) -> None:
            if broken[0]:
                raise ValueError("a fold that is wrong")
            EXECUTIONS.fold(shard, append, codec, rows)

        async with projecting(journals, tmp_path, with_fold(fold)) as host:
            await live(host)
            broken[0] = True
            with pytest.raises(ViewStopped, match="a fold that is wrong"):
                await host.rebuild()
            broken[0] = False
            assert ViewFiles(tmp_path, "executions").generations() == [1]
            assert SqliteExecutions(reader).count(SHELL) == {"completed": 1}
            await journals.commit("executions", *whole_run("two"))
            await live(host)
            assert SqliteExecutions(reader).count(SHELL) == {"completed": 2}

    run_virtual(main())


def test_a_rebuild_mends_a_view_that_has_stopped(tmp_path: Path) -> None:
    """Proves: PRJ-06."""

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
        journals.recreate("executions")
        await journals.commit("executions", *whole_run("other"))
        async with projecting(journals, tmp_path) as host:
            while not host.error:
                await host.changed(1.0)
            await host.rebuild()
            assert host.error == ""
            assert host.caught_up
            reader = ViewReader(tmp_path, EXECUTIONS)
            assert [run.execution_id for run in SqliteExecutions(reader).executions(SHELL)] == ["other"]
            reader.close()

    run_virtual(main())


def test_a_rebuild_that_cannot_be_swapped_in_says_so_and_the_next_one_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Store) -> None:
        raise StoreAway("the disk is full")

    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            with monkeypatch.context() as patched:
                patched.setattr(Store, "flush_to_file", full)
                with pytest.raises(ViewStopped, match="the disk is full; the old one goes on serving"):
                    await host.rebuild()
            await journals.commit("executions", *whole_run("two"))
            await live(host)
            assert ViewFiles(tmp_path, "executions").generations() == [1, 2]
            rebuilt = await host.rebuild(compare=True)
            assert rebuilt.rebuilt_digest == rebuilt.replaced_digest
            assert ViewFiles(tmp_path, "executions").generations() == [2]

    run_virtual(main())


def test_one_rebuild_at_a_time(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            first = asyncio.create_task(host.rebuild())
            await asyncio.sleep(0)
            with pytest.raises(RebuildUnderWay):
                await host.rebuild()
            with pytest.raises(RebuildUnderWay):
                await host.drop()
            await first

    run_virtual(main())


def test_a_rebuild_touches_nothing_but_its_own_files(tmp_path: Path) -> None:
    """Nothing is sent to the log by a replay or a rebuild.

    Proves: PRJ-07.
    """

    async def main() -> None:
        journals = Journals()
        await journals.commit("publishing", *candidate("p1"))
        before = journals.broker.partition(journals.shard("publishing")).extent
        async with projecting(journals, tmp_path, TRIGGER_INDEX) as host:
            await live(host)
            await host.rebuild()
        assert journals.broker.partition(journals.shard("publishing")).extent == before

    run_virtual(main())


# ---- dropping and other releases ------------------------------------------------------------------------------------


def test_a_dropped_view_says_warming_up_until_it_is_filled_and_has_the_same_rows_then(
    tmp_path: Path, reader: ViewReader
) -> None:
    """Proves: PRJ-06, PRJ-09."""

    async def main() -> None:
        journals = Journals()
        for number in range(600):
            await journals.commit("executions", *whole_run(f"run-{number}"))
        queries = SqliteExecutions(reader)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            before = host.digest()
            assert queries.execution("nobody") is None
            await host.drop()
            warming = 0
            while not host.caught_up:
                for ask in (lambda: queries.executions(SHELL), lambda: queries.execution("run-7")):
                    with pytest.raises(WarmingUp):
                        ask()
                warming += 1
                await host.changed(1.0)
            assert warming
            assert host.digest() == before
            assert queries.execution("nobody") is None

    run_virtual(main())


def test_rows_of_another_release_are_made_anew(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
        newer = with_fold(EXECUTIONS.fold, version=EXECUTIONS.version + 1)
        reader = ViewReader(tmp_path, newer)
        with pytest.raises(WarmingUp, match="another release"):
            SqliteExecutions(reader).executions(SHELL)
        async with projecting(journals, tmp_path, newer) as host:
            await live(host)
            assert (await host.status()).generation == 2
            assert len(SqliteExecutions(reader).executions(SHELL)) == 1
        reader.close()

    run_virtual(main())


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        async with projecting(journals, tmp_path) as host:
            await live(host)
            whole = host.digest()
        ViewFiles(tmp_path, "executions").path(1).write_bytes(b"no database at all" * 1_000)
        async with projecting(journals, tmp_path) as host:
            await live(host)
            assert host.digest() == whole

    run_virtual(main())


def with_fold(fold: FoldAppend, version: int = EXECUTIONS.version) -> View:
    """The executions with another fold."""
    return View(
        name=EXECUTIONS.name, contexts=EXECUTIONS.contexts, tables=EXECUTIONS.tables, fold=fold, version=version
    )
