"""Snapshots: what a process has folded of a journal, so that its next start needs not fold it from the beginning.

A snapshot is a cache. It is refused where anything is wrong with it, and then the journal is folded from its beginning:
slower, never wrong. What makes one usable, and nothing else does (ADR 8):

- it is whole: its last line has the digest of all the others;
- it was written by classes and rules of folding like those of this process, under the same settings: the fingerprint;
- it is of this very journal: the topic's id, and the append that it was taken behind stands where it says.

The state in it is that behind one append that counts, copied in one step; it is written while the shard goes on.

    due: n records, and no fewer than the last was worth ─► copied ─► written in slices ─► there, whole, or not at all
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Generator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from interlock.log.journal import JournalReader, LogChanged, Position
from interlock.log.port import Log, OffsetGone, Shard
from interlock.processors.leisure import Leisure
from interlock.processors.ports import SnapshotStore
from interlock.schemas.states import StateFormat

log = logging.getLogger(__name__)

FORMAT: Final = 1
"""Of the file; another one is refused."""
BLOCK_BYTES: Final = 256 << 10
"""What the store is given at once, at least."""
RECORD_BYTES: Final = 256
"""So many bytes of a snapshot take a small part of the time that a record takes to be decided and appended."""


class Snapshot(NamedTuple):
    """What was folded up to a position."""

    position: Position
    states: tuple[object, ...]
    """One for each class of the format."""


class Unusable(Exception):
    """A snapshot that must not be used; the message says why."""


class Keeper:
    """Loads and writes the snapshots of one fold, and knows when the next one is due."""

    def __init__(
        self,
        store: SnapshotStore,
        name: str,
        form: StateFormat,
        *,
        journal: Shard,
        topic_id: str,
        records_min: int,
        settings: str = "",
    ) -> None:
        """`settings` tells what else the fold is a function of; `records_min` is after how many records of the journal
        the next snapshot is due, if the last one wasn't larger."""
        self._store = store
        self._name = name
        self._form = form
        self._journal = journal
        self._bound = {
            "format": FORMAT,
            "journal": str(journal),
            "topic": topic_id,
            "fingerprint": hashlib.sha256(f"{form.fingerprint} {rules()} {settings}".encode()).hexdigest(),
        }
        self._records_min = records_min
        self._records = 0
        self._begins = False
        """Whether a journal is being opened of which there was no snapshot."""
        self._size = 0
        """Records that the last snapshot is worth, by its bytes; it would cost more than they to write more often."""
        self._writing: asyncio.Task[None] | None = None
        self._hurries = False
        """Whether somebody waits for what is being written."""

    # ---- loading ----------------------------------------------------------------------------------------------

    async def load(self, wire: Log, wait_s: float) -> Snapshot | None:
        """The snapshot, if there is one that may be used; else None, and why is logged. Raises what the port raises."""
        try:
            found = await self._read()
            if found is None:
                self._begins = True
                return None
            await self._recognise(wire, found.position, wait_s)
        except Unusable as error:
            log.warning(
                "the snapshot %s is not used, %s is folded from its beginning: %s", self._name, self._journal, error
            )
            return None
        log.info("%s is folded from append %d on, where a snapshot was taken", self._journal, found.position.number)
        return found

    async def _read(self) -> Snapshot | None:
        digest, size, position, reading = hashlib.sha256(), 0, None, self._form.reading()
        states: tuple[object, ...] | None = None
        try:
            async for block in self._store.read(self._name):
                for line in block:
                    if position is None:
                        position = self._head(line)
                        next(reading)
                    elif states is None:
                        states = _fed(reading, line)
                    else:
                        if json.loads(line) != {"sha256": digest.hexdigest()}:
                            raise Unusable("expected the digest of what it holds in its last line, found another one")
                        self._size = size // RECORD_BYTES
                        return Snapshot(position, states)
                    digest.update(line)
                    size += len(line)
        except OSError as error:
            raise Unusable(f"expected to read it, found: {error}") from error
        except Unusable:
            raise
        except Exception as error:
            raise Unusable(f"expected a whole snapshot, found it altered: {type(error).__name__}: {error}") from error
        if position is None:
            return None
        raise Unusable("expected a whole snapshot, found only its beginning")

    def _head(self, line: bytes) -> Position:
        head = json.loads(line)
        at = head.pop("position")
        for name, expected in self._bound.items():
            if head.get(name) != expected:
                raise Unusable(f"expected the {name} {expected}, found {head.get(name)}")
        return Position(base=at["base"], id=at["id"], number=at["number"], events=at["events"])

    async def _recognise(self, wire: Log, position: Position, wait_s: float) -> None:
        reader = JournalReader(wire, self._journal, position)
        try:
            while reader.next_offset <= position.base:
                await reader.read(wait_s)
        except (LogChanged, OffsetGone) as error:
            raise Unusable(str(error)) from error
        finally:
            await reader.close()

    def opened(self) -> None:
        """Says that all is folded that was there before."""
        self._begins = False

    # ---- writing ----------------------------------------------------------------------------------------------

    def folded(self, records: int) -> None:
        """Counts records that were folded or appended since the last snapshot."""
        self._records += records
        if self._begins and self._records >= self._records_min:
            self._begins = False
            log.warning(
                "expected a snapshot of %s, which has over %d records, found no %s: it is folded from its beginning, "
                "which takes the longer the more there are. That is so where a process opens it for the first time; "
                "else keep the snapshots of its data directory from one start to the next",
                self._journal,
                self._records_min,
                self._name,
            )

    @property
    def due(self) -> bool:
        """Whether it is time for a snapshot, and none is being written."""
        return not self._under_way and self._records >= max(self._records_min, self._size)

    def write(self, position: Position, *states: object) -> None:
        """Writes a snapshot in the background; the states are given away, and nobody may change them any more."""
        self._records = 0
        self._writing = asyncio.get_running_loop().create_task(self._write(position, states))

    async def finish(self, position: Position, *states: object) -> None:
        """The last one, before an orderly end; returns once it is there, or can't be."""
        self._hurries = True
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._records:
            self.write(position, *states)
            assert self._writing is not None, "expected to be writing"
            await self._writing

    @property
    def worth_finishing(self) -> bool:
        """Whether a start would notice if this weren't: so much has come since the last one, or that one is still being
        written and would be given up."""
        return self._under_way or self._records * 10 >= self._records_min

    @property
    def _under_way(self) -> bool:
        return self._writing is not None and not self._writing.done()

    async def close(self) -> None:
        """Ends writing; the snapshot before it stays."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _write(self, position: Position, states: tuple[object, ...]) -> None:
        try:
            await self._store.write(self._name, self._blocks(position, states))
        except OSError as error:
            log.warning("the snapshot %s can't be written, the one before it stays: %s", self._name, error)

    async def _blocks(self, position: Position, states: tuple[object, ...]) -> AsyncIterator[bytes]:
        at = {"base": position.base, "id": position.id, "number": position.number, "events": position.events}
        block = bytearray(json.dumps(self._bound | {"position": at}).encode() + b"\n")
        digest, size = hashlib.sha256(), 0
        leisure = Leisure()
        for line in self._form.lines(*states):
            block += line
            await (asyncio.sleep(0) if self._hurries else leisure.rest())
            if len(block) >= BLOCK_BYTES:
                digest.update(block)
                size += len(block)
                yield bytes(block)
                block.clear()
                leisure.begin()
        digest.update(block)
        self._size = (size + len(block)) // RECORD_BYTES
        yield bytes(block) + json.dumps({"sha256": digest.hexdigest()}).encode() + b"\n"


def _fed(reading: Generator[None, bytes, tuple[object, ...]], line: bytes) -> tuple[object, ...] | None:
    try:
        reading.send(line)
    except StopIteration as end:
        states: tuple[object, ...] = end.value
        return states
    return None


@cache
def rules() -> str:
    """The digest of the code that folds: with other rules the same events make another state, in the same classes."""
    found = hashlib.sha256()
    for name, source in sorted(_sources(files("interlock.domain"), "domain")):
        found.update(f"{name} {len(source)}\n".encode() + source)
    for package, module in (("interlock.processors", "counted.py"), ("interlock.schemas", "upcasters.py")):
        found.update(files(package).joinpath(module).read_bytes())
    return found.hexdigest()


def _sources(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in folder.iterdir():
        path = f"{name}/{each.name}"
        if each.is_dir():
            found += _sources(each, path)
        elif each.name.endswith(".py"):
            found.append((path, each.read_bytes()))
    return found
