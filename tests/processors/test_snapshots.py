"""Snapshots of folds: used where everything about them is right, refused where anything is not, whole or not there."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from interlock.log.frame import Entry
from interlock.log.journal import START, Journal, Position
from interlock.log.memory import MemoryLog
from interlock.log.port import Shard, TopicSpec
from interlock.processors.ports import SnapshotStore
from interlock.processors.snapshots import Keeper
from interlock.runtime.snapshot_files import SnapshotFiles
from interlock.schemas.states import StateFormat
from tests.support.snapshots import MemorySnapshots

JOURNAL = Shard("t", 0)
RECORDS_MIN = 10


@dataclass(frozen=True, slots=True)
class Kept:
    """What the tests keep."""

    texts: tuple[str, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Other:
    """The same of another release."""

    texts: tuple[str, ...]
    number: int
    more: int = 0


FORM = StateFormat(Kept)
KEPT = Kept(tuple(f"text {number}" for number in range(1_000)), 7)


def keeper(store: SnapshotStore, *, form: StateFormat = FORM, topic_id: str = "id", settings: str = "") -> Keeper:
    return Keeper(store, "t-0", form, journal=JOURNAL, topic_id=topic_id, records_min=RECORDS_MIN, settings=settings)


async def journal(appends: int = 3) -> tuple[MemoryLog, Journal]:
    """A journal with so many appends behind the one that opened it."""
    log = MemoryLog()
    await log.create([TopicSpec(name="t", partitions=1)])
    numbers = count(1)

    async def yes() -> bool:
        return True

    opened = await Journal.open(
        log,
        JOURNAL,
        ids=lambda: f"{next(numbers):032x}",
        fold=lambda _: None,
        note=lambda: b"",
        still_assigned=yes,
    )
    for _ in range(appends):
        await opened.append(b"", [Entry("event", b"s:1", b"x", (("revision", b"1"),))])
    return log, opened


async def written(store: SnapshotStore, position: Position, kept: Kept = KEPT) -> None:
    one = keeper(store)
    one.folded(RECORDS_MIN)
    await one.finish(position, kept)


async def test_a_snapshot_is_found_by_the_next_start() -> None:
    log, owner = await journal()
    store = MemorySnapshots()
    assert await keeper(store).load(log, 0.1) is None
    await written(store, owner.position)
    await owner.append(b"", [])
    found = await keeper(store).load(log, 0.1)
    assert found is not None
    assert found.states == (KEPT,)
    assert found.position == Position(owner.position.base - 2, f"{5:032x}", 4, 3)


async def test_a_snapshot_of_other_classes_settings_topics_or_rules_is_refused(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, owner = await journal()
    store = MemorySnapshots()
    await written(store, owner.position)
    for other, why in (
        (keeper(store, form=StateFormat(Other)), "fingerprint"),
        (keeper(store, settings="horizon"), "fingerprint"),
        (keeper(store, topic_id="another"), "topic"),
    ):
        caplog.clear()
        assert await other.load(log, 0.1) is None
        assert why in caplog.text
        assert "is folded from its beginning" in caplog.text
    monkeypatch.setattr("interlock.processors.snapshots.rules", lambda: "of another release")
    assert await keeper(store).load(log, 0.1) is None


async def test_a_snapshot_of_another_history_or_ahead_of_the_log_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    log, owner = await journal(appends=3)
    at = owner.position
    for position in (
        Position(at.base, "f" * 32, at.number, at.events),
        Position(at.base - 1, at.id, at.number, at.events),
        Position(at.base + 2, at.id, at.number + 1, at.events),
        Position(at.base + 50, at.id, at.number + 20, at.events),
    ):
        caplog.clear()
        store = MemorySnapshots()
        await written(store, position)
        assert await keeper(store).load(log, 0.1) is None
        assert "is folded from its beginning" in caplog.text


async def test_a_snapshot_that_is_torn_anywhere_or_altered_anywhere_is_refused() -> None:
    log, owner = await journal()
    store = MemorySnapshots()
    await written(store, owner.position, Kept(("some", "text"), 7))
    whole = store.held["t-0"]
    for at in range(len(whole)):
        store.held["t-0"] = whole[:at]
        # The very last byte only ends the line.
        assert await keeper(store).load(log, 0.1) is None or at == len(whole) - 1, f"torn at {at}"
        changed = b"0" if whole[at : at + 1] != b"0" else b"1"
        store.held["t-0"] = whole[:at] + changed + whole[at + 1 :]
        assert await keeper(store).load(log, 0.1) is None, f"altered at {at}"
    lines = whole.splitlines(keepends=True)
    for left_out in range(len(lines)):
        store.held["t-0"] = b"".join(lines[:left_out] + lines[left_out + 1 :])
        assert await keeper(store).load(log, 0.1) is None
    store.held["t-0"] = whole
    assert await keeper(store).load(log, 0.1) is not None


async def test_a_snapshot_that_can_t_be_read_or_written_is_no_reason_to_stop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        async def write(self, name: str, blocks: AsyncIterator[bytes]) -> None:
            raise OSError("no space left on device")

        async def read(self, name: str) -> AsyncIterator[list[bytes]]:
            if name:
                raise PermissionError("permission denied")
            yield []

    log, owner = await journal()
    await written(Broken(), owner.position)
    assert "no space left" in caplog.text
    assert await keeper(Broken()).load(log, 0.1) is None
    assert "permission denied" in caplog.text


async def test_the_next_one_is_due_after_so_many_records_and_later_where_the_last_was_large() -> None:
    _, owner = await journal()
    store = MemorySnapshots()
    one = keeper(store)
    seen = [one.due]
    for records in (RECORDS_MIN - 1, 1):
        one.folded(records)
        seen.append(one.due)
    assert seen == [False, False, True]
    one.write(owner.position, KEPT)
    one.folded(1_000)
    assert not one.due, "one is being written"
    await one.close()
    assert store.held == {}, "what was being written is no snapshot"
    await written(store, owner.position)
    small, large = keeper(store), keeper(store)
    small.folded(RECORDS_MIN)
    await small.finish(owner.position, Kept((), 1))
    large.folded(RECORDS_MIN)
    await large.finish(owner.position, Kept(("x" * 1_000,) * 100, 1))
    for each in (small, large):
        each.folded(RECORDS_MIN)
    assert small.due
    assert not large.due
    large.folded(500)
    assert large.due


async def test_an_orderly_end_waits_for_what_is_being_written_although_nothing_came_since() -> None:
    log, owner = await journal()
    store = MemorySnapshots()
    one = keeper(store)
    one.folded(RECORDS_MIN)
    one.write(owner.position, KEPT)
    worth = [one.worth_finishing]
    await one.finish(owner.position, KEPT)
    await one.close()
    assert [*worth, one.worth_finishing] == [True, False]
    found = await keeper(store).load(log, 0.1)
    assert found is not None
    assert found.position == owner.position


async def test_writing_gives_way_to_others_in_between() -> None:
    _, owner = await journal()
    turns = 0
    done = asyncio.Event()

    async def other() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    await written(MemorySnapshots(), owner.position, Kept(("text",) * 100_000, 1))
    done.set()
    await beside
    assert turns > 500


# ---- files ----------------------------------------------------------------------------------------------------------


async def test_a_crash_between_any_two_steps_of_writing_leaves_the_old_one_or_the_new_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call that changes the directory is the last one in its turn, until one try comes through."""
    log, owner = await journal()
    old, new = Kept(("old",), 1), KEPT
    await written(SnapshotFiles(tmp_path), owner.position, old)

    class Crash(BaseException):
        pass

    def nothing(_: Path, *, missing_ok: bool = False) -> None:
        """Cleans nothing up."""

    left = 0

    def counting(real: Callable[..., object]) -> Callable[..., object]:
        def called(*args: object, **kwargs: object) -> object:
            nonlocal left
            if left <= 0:
                raise Crash
            left -= 1
            return real(*args, **kwargs)

        return called

    found: list[object] = []
    for steps in count():
        with monkeypatch.context() as patched:
            left = steps
            for name in ("fsync", "replace", "open"):
                patched.setattr(os, name, counting(getattr(os, name)))
            # A process that is dead cleans nothing up.
            patched.setattr(Path, "unlink", nothing)
            try:
                await written(SnapshotFiles(tmp_path), owner.position, new)
            except Crash:
                done = False
            else:
                done = True
        kept = await keeper(SnapshotFiles(tmp_path)).load(log, 0.1)
        assert kept is not None, f"after {steps} steps"
        assert kept.states in ((old,), (new,))
        found.append(kept.states[0])
        if done:
            break
    assert found == sorted(found, key=lambda one: one == new), "never back to the old one"
    assert found[0] == old
    assert found[-1] == new
    assert len(found) >= 4


async def test_nothing_of_a_write_that_failed_is_left(tmp_path: Path) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        yield b"some"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        await SnapshotFiles(tmp_path / "new").write("t-0", blocks())
    assert os.listdir(tmp_path / "new") == []


async def test_what_a_crash_left_long_ago_is_removed_and_what_another_process_writes_now_is_not(tmp_path: Path) -> None:
    log, owner = await journal()
    for name in ("t-0.old.part", "t-0.new.part", "t-01.old.part"):
        (tmp_path / name).write_bytes(b"left")
    for name in ("t-0.old.part", "t-01.old.part"):
        os.utime(tmp_path / name, (0, 0))
    await written(SnapshotFiles(tmp_path), owner.position)
    assert sorted(os.listdir(tmp_path)) == ["t-0.new.part", "t-0.snapshot", "t-01.old.part"]
    assert await keeper(SnapshotFiles(tmp_path)).load(log, 0.1) is not None


def test_a_snapshot_is_text_that_says_what_it_is_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def work() -> None:
        log, owner = await journal()
        await written(SnapshotFiles(tmp_path), owner.position)
        await keeper(SnapshotFiles(tmp_path)).load(log, 0.1)

    asyncio.run(work())
    head = json.loads((tmp_path / "t-0.snapshot").read_text("ascii").splitlines()[0])
    assert (head["journal"], head["topic"], head["position"]["number"]) == ("t/0", "id", 4)
    assert START.number == 0
    assert "is folded from append 4 on" in caplog.text
