"""What the engine's own parts are told and hold, seen from beside: no production code knows of it.

While it watches, a few methods report to the judge before or after they do what they do: `Journal.append` (what a
writer was told), `JournalReader.read` (what every reader of the engine folds), `MemoryLog.send` (what leaves a process,
and what it is told of it), `Ownership.open`, `_turn`, `_append` and `close` (when an owner's state is that of the log),
`ViewHost._replace` (when another copy of a view begins to serve). So the judge looks at the very moments at which a
rule could be broken, and the order of things is exact.

A violation that is found within the engine is kept and raised by the next look: raised there, the engine would take it
for a failure of a shard and go on.

Rules: acknowledged-void, acknowledged-elsewhere, denied-counted, lost-to-nobody, view-falls.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from interlock.log.frame import Append, Entry
from interlock.log.journal import Journal, JournalReader, Lost
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Doubt, Record, Refused, Shard
from interlock.processors.ownership import Ownership
from interlock.projections.host import ViewHost
from tests.simulation.checks import Violation
from tests.simulation.checks.deliveries import DeliveriesCheck, Sending
from tests.simulation.checks.readers import same
from tests.simulation.checks.shadows import ShadowsCheck
from tests.simulation.checks.tape import Tape, Tapes

F = TypeVar("F", bound=Callable[..., object])


class Looks(Protocol):
    """The judge, as the witness needs it."""

    def see(self, then: Callable[[], None] | None = None) -> None:
        """Reads what has landed, then calls `then`; keeps the first violation."""
        ...


class Witness:
    """Reports from one broker's journals and connections."""

    def __init__(
        self, judge: Looks, broker: MemoryBroker, tapes: Tapes, deliveries: DeliveriesCheck, shadows: ShadowsCheck
    ) -> None:
        self.denied: dict[str, str] = {}
        """Append id → why it must never count."""
        self.doubts = 0
        """Appends that ended in doubt."""
        self._judge = judge
        self._broker = broker
        self._tapes = tapes
        self._deliveries = deliveries
        self._shadows = shadows
        self._sent_by: dict[tuple[str, int], str] = {}
        """Owner and number → the id of the append that was sent last for them."""
        self.deciding: set[int] = set()
        """Owners that may hold more than the log, by `id`."""

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Watches until it is left."""
        replaced: list[tuple[type, str, object]] = []

        def wrap(owner: type, attribute: str, around: Callable[..., Awaitable[object]]) -> None:
            original = getattr(owner, attribute)

            async def wrapped(*args: object, **kwargs: object) -> object:
                return await around(original, *args, **kwargs)

            replaced.append((owner, attribute, original))
            setattr(owner, attribute, wrapped)

        wrap(Journal, "append", self._append)
        wrap(JournalReader, "read", self._read)
        wrap(MemoryLog, "send", self._send)
        wrap(Ownership, "open", self._open)
        wrap(Ownership, "_append", self._commit)
        wrap(Ownership, "_turn", self._turn)
        wrap(Ownership, "close", self._close)
        wrap(ViewHost, "_replace", self._replaced)
        try:
            yield
        finally:
            for owner, attribute, original in reversed(replaced):
                setattr(owner, attribute, original)

    # ---- journals -------------------------------------------------------------------------------------------------

    async def _append(
        self,
        original: Callable[..., Awaitable[Append]],
        journal: Journal,
        note: bytes,
        entries: Sequence[Entry] = (),
    ) -> Append:
        tape = self._tapes.by_shard.get(journal.shard)
        number = journal.position.number + 1
        if tape is None:
            return await original(journal, note, entries)
        try:
            append = await original(journal, note, entries)
        except Lost as lost:
            if isinstance(lost.__cause__, Doubt):
                self.doubts += 1
            else:
                lost_why = str(lost)
                self._judge.see(lambda: self._lost(tape, journal.owner, number, lost_why))
            raise
        except Refused as refused:
            refused_why = str(refused)
            self._judge.see(lambda: self._deny(tape, journal.owner, number, refused_why))
            raise
        self._judge.see(lambda: self._counted(tape, append))
        return append

    def _lost(self, tape: Tape, owner: str, number: int, why: str) -> None:
        """Another append counted: instead of this one, which then never counts, or behind it."""
        append_id = self._sent_by.get((owner, number), "")
        if append_id in tape.ids:
            return
        if len(tape.commits) < number:
            raise Violation(
                "lost-to-nobody",
                f"expected another append {number} of {tape.shard} to count, as the writer of {append_id} was told "
                f"({why}), found {len(tape.commits)} that count",
            )
        self.denied[append_id] = why

    def _deny(self, tape: Tape, owner: str, number: int, why: str) -> None:
        """The log has refused it."""
        append_id = self._sent_by.get((owner, number), "")
        self.denied[append_id] = why
        self.check_denied(tape, append_id)

    def check_denied(self, tape: Tape, append_id: str) -> None:
        """What a writer was told never to count doesn't."""
        number = tape.ids.get(append_id)
        if number is not None and append_id in self.denied:
            raise Violation(
                "denied-counted",
                f"expected append {append_id} of {tape.shard} never to count, as its writer was told "
                f"({self.denied[append_id]}), found it as number {number}",
            )

    def _counted(self, tape: Tape, append: Append) -> None:
        number = tape.ids.get(append.frame.id)
        if number is None:
            raise Violation(
                "acknowledged-void",
                f"expected append {append.frame.number} ({append.frame.id}) of {tape.shard} to count, as its writer "
                f"was told, found {len(tape.commits)} that count and not this one",
            )
        right = tape.commits[number - 1].append
        if right.base != append.base or number != append.frame.number:
            raise Violation(
                "acknowledged-elsewhere",
                f"expected append {number} of {tape.shard} at offset {right.base}, found that its writer was told "
                f"number {append.frame.number} at {append.base}",
            )

    async def _read(
        self, original: Callable[..., Awaitable[list[Append]]], reader: JournalReader, wait_s: float
    ) -> list[Append]:
        tape = self._tapes.by_shard.get(reader.shard)
        before = reader.position.number
        appends = await original(reader, wait_s)
        if tape is not None and appends:
            self._judge.see(lambda: _follows(tape, appends, before))
        return appends

    # ---- sending --------------------------------------------------------------------------------------------------

    async def _send(
        self, original: Callable[..., Awaitable[int]], log: MemoryLog, shard: Shard, batch: Sequence[Record]
    ) -> int:
        if log.broker is not self._broker:
            return await original(log, shard, batch)
        sending = None
        if shard in self._tapes.by_shard:
            headers = dict(batch[0].headers)
            owner, number = headers["owner"].decode(), int(headers["append"])
            self._sent_by[owner, number] = headers["append-id"].decode()
        else:
            found: list[Sending | None] = []
            self._judge.see(lambda: found.append(self._deliveries.sending(shard, batch)))
            sending = found[0] if found else None
        base = await original(log, shard, batch)
        if sending is not None:
            self._deliveries.sent(sending)
        return base

    # ---- owners ---------------------------------------------------------------------------------------------------

    async def _open(self, original: Callable[..., Awaitable[None]], ownership: Ownership, assigned: object) -> None:
        await original(ownership, assigned)
        self._judge.see(lambda: self._shadows.whole(ownership))

    async def _turn(self, original: Callable[..., Awaitable[None]], ownership: Ownership) -> None:
        self.deciding.add(id(ownership))
        # Where it fails, the owner holds what never came to be until it is closed.
        await original(ownership)
        self.deciding.discard(id(ownership))

    async def _close(self, original: Callable[..., Awaitable[None]], ownership: Ownership) -> None:
        try:
            await original(ownership)
        finally:
            self.deciding.discard(id(ownership))

    async def _commit(self, original: Callable[..., Awaitable[None]], ownership: Ownership, unit: object) -> None:
        await original(ownership, unit)
        self._judge.see(lambda: self._shadows.committed(ownership))

    # ---- views ----------------------------------------------------------------------------------------------------

    async def _replaced(self, original: Callable[..., Awaitable[None]], host: ViewHost, old: Any, new: Any) -> None:
        """A copy that says that it is whole serves in the place of another one."""
        if new.store.marks().filled:
            before, after = (
                {shard: one.projector.position(shard).number for shard in host.shards} for one in (old, new)
            )
            self._judge.see(lambda: _no_earlier(host.view.name, before, after))
        await original(host, old, new)


def _no_earlier(view: str, before: Mapping[Shard, int], after: Mapping[Shard, int]) -> None:
    if any(after[shard] < number for shard, number in before.items()):
        raise Violation(
            "view-falls", f"expected a new copy of the view {view} to serve at {before}, found it at {after}"
        )


def _follows(tape: Tape, appends: Sequence[Append], before: int) -> None:
    expected = before + 1 if before else None
    for append in appends:
        expected = same(tape, append, expected, f"behind append {before}")
