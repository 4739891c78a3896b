"""Views and processes: one that is killed, and one that reads while another swaps."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from interlock.log.journal import Journal, JournalReader
from interlock.log.port import Shard, TopicSpec
from interlock.log.sqlite.log import SqliteLog
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.executions.store import EXECUTIONS as EXECUTIONS_TABLE
from interlock.projections.files import ViewFiles
from interlock.projections.reader import ViewReader
from interlock.projections.rows import MemoryRows
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from tests.projections.journals import CODEC, Journals, event_entry, topic_of
from tests.projections.stories import activation, candidate, prepared, whole_run

ROOT = Path(__file__).resolve().parents[2]
LINE_S = 30.0
"""A child that says nothing for so long hangs."""
SHARD = Shard(topic_of("executions"), 0)


@asynccontextmanager
async def child(*arguments: object) -> AsyncGenerator[Process, None]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    command = [sys.executable, "-m", "tests.projections.child", *(str(each) for each in arguments)]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(LINE_S):
        return (await process.stdout.readline()).decode().strip()


async def fill(path: Path, appends: int) -> str:
    """Fills a log, and returns the digest of a whole replay in memory."""
    log = SqliteLog(path)
    await log.create([TopicSpec(name=SHARD.topic, partitions=1)])
    ids = iter(f"{number:032x}" for number in range(1, 10 * appends))

    async def yes() -> bool:
        return True

    journal = await Journal.open(
        log, SHARD, ids=lambda: next(ids), fold=lambda _: None, note=lambda: b"", still_assigned=yes
    )
    for number in range(appends):
        runs = [change for run in range(20) for change in whole_run(f"{number}-{run}")]
        entries = [event_entry(change.stream, at % 5 + 1, change.event) for at, change in enumerate(runs)]
        await journal.append(b"", entries)
    rows, reader = MemoryRows(), JournalReader(log, SHARD)
    while reader.position.number < journal.position.number:
        for append in await reader.read(1.0):
            EXECUTIONS.fold(SHARD, append, CODEC, rows)
    await reader.close()
    await log.close()
    return rows.digest(EXECUTIONS.tables)


async def test_a_projector_that_is_killed_again_and_again_ends_with_the_rows_of_a_full_replay(tmp_path: Path) -> None:
    """Killed as the operating system does it, in the middle of whatever it was at (case E11).

    Proves: PRJ-07.
    """
    expected = await fill(tmp_path / "log", 120)
    reached: list[int] = []
    for goal in (1, 30, 60, 90):
        async with child("project", tmp_path / "log", tmp_path / "views") as process:
            while int(await line_of(process)) < goal:
                pass
            process.kill()
            await process.wait()
        reached.append(goal)
    async with child("project", tmp_path / "log", tmp_path / "views") as process:
        lines: list[str] = []
        while line := await line_of(process):
            lines.append(line)
    assert lines[-1] == expected
    assert int(lines[0]) >= reached[-1]


async def test_a_rebuild_that_is_killed_in_the_middle_leaves_the_old_copy_serving_and_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    """Proves: PRJ-06."""
    views, files = tmp_path / "views", ViewFiles(tmp_path / "views", EXECUTIONS.name)
    expected = await fill(tmp_path / "log", 120)
    reached = 0
    for goal in (1, 40, 80):
        async with child("rebuild", tmp_path / "log", views) as process:
            first = done = await step(process)
            while done < goal:
                done = await step(process)
            process.kill()
            await process.wait()
        # Where it was, and not from the start: what a killed process had stored is there.
        assert first >= reached
        reached = done
        assert (files.serving(), files.generations()) == (1, [1, 2])
        reader = ViewReader(views, EXECUTIONS)
        with reader.snapshot() as snapshot:
            assert snapshot.positions()[SHARD].number == 120 + 1
            assert sum(snapshot.count(EXECUTIONS_TABLE, "status", "1").values()) == 120 * 20
        reader.close()
    async with child("rebuild", tmp_path / "log", views) as process:
        assert process.stdin is not None
        process.stdin.write(b"\n" * 200)
        lines: list[str] = []
        while line := await line_of(process):
            lines.append(line)
    assert int(lines[0]) >= reached
    assert lines[-1] == f"swapped {expected}"
    assert (files.serving(), files.generations()) == (2, [2])


async def step(process: Process) -> int:
    """Lets a rebuild go on; how many appends it holds then."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    return int(await line_of(process))


async def test_another_process_that_reads_across_swaps_meets_one_authority_each_time(tmp_path: Path) -> None:
    """Proves: PRJ-04, PRJ-06."""
    journals = Journals()
    await journals.commit("publishing", *candidate("p0"))
    await journals.commit("publishing", *prepared("p0"), *activation("p0", revision=1))
    host = journals.host(TRIGGER_INDEX, tmp_path)
    await host.start()
    while not host.caught_up:
        await host.changed(1.0)
    async with child("probe", tmp_path) as process:
        assert await line_of(process) == "asking"
        for number in range(1, 41):
            name = f"p{number}"
            await journals.commit("publishing", *candidate(name, revision=number))
            replacing = activation(name, revision=number + 1, replaces=f"p{number - 1}")
            append = await journals.commit("publishing", *prepared(name), *replacing)
            assert await host.reached({journals.shard("publishing"): append.frame.number}, LINE_S)
            if number % 4 == 0:
                rebuilt = await host.rebuild(compare=True)
                assert rebuilt.rebuilt_digest == rebuilt.replaced_digest
        assert process.stdin is not None
        process.stdin.close()
        asked, copies, *wrong = (await line_of(process)).split(" ", 2)
        assert wrong == ["[]"]
        assert int(asked) >= int(copies) > 1
    await host.close()
