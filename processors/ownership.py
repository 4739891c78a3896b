"""One ownership of a shard: from `opened` until it is lost or stopped.

One turn of its loop: take the mail, decide all of it at one publishing position, append, and when that counts hand
promises to the couriers and start what is owed. Nothing leaves the process before the append counts.

    wait ─► decide (synchronous) ─► settle ─► append ─► counted: deliver, start activities ─► wait
                                                └► Lost: drop the state, open again (processor.py)
"""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

from interlock.domain.decider import NOTHING, Decided, Decision, Intent
from interlock.domain.messages import RejectStimulus, Reply
from interlock.domain.progress import Progress
from interlock.log.frame import Append, is_event
from interlock.log.journal import START, Journal, Lost, Position, behind
from interlock.log.port import Log, Shard, Stored
from interlock.processors.answering import answered, earlier_answer, with_answer
from interlock.processors.counted import Counted, KeptBook
from interlock.processors.courier import Couriers, Waiting, for_users
from interlock.processors.mail import Cause, Received, receive, recorded, unreadable
from interlock.processors.mailbox import Item, Local, Mailbox
from interlock.processors.ports import Bounds, Clock, Codec, Ids, NewerRelease, Schemas, Topics
from interlock.processors.snapshots import Keeper
from interlock.processors.unit import Book, Full, Outgoing, Unit
from interlock.schemas.states import StateFormat

log = logging.getLogger(__name__)

CLOCK_LOOK_S = 30.0
"""How much too late something may be done that came due while the machine slept."""

ANSWERS_KEPT_MAX = 100_000
"""Answers that a shard remembers; a command that is repeated after so many others is decided again."""


class Handler(Protocol):
    """What a context brings to the loop. One object an ownership; it may see every message twice."""

    form: ClassVar[StateFormat]
    """How a `KeptBook` and what `keep` gives are written."""

    @property
    def folded_with(self) -> str:
        """What the state is a function of, beside the events."""
        ...

    def apply(self, stream: str, event: object) -> None:
        """Folds an event that counts, or that the current unit has decided."""
        ...

    def keep(self) -> object:
        """What a snapshot keeps of the state; called where all of it counts, and copied before anything changes it."""
        ...

    def restore(self, kept: object) -> None:
        """Begins with what `keep` gave, which is its own from now on."""
        ...

    def handle(self, received: Received, unit: Unit) -> Decided:
        """Decides a message."""
        ...

    def local(self, item: object, unit: Unit) -> Decided:
        """Decides what one of its own tasks reports."""
        ...

    def cause(self, item: object | None) -> Cause:
        """Why a report is decided, or, for None, what is due."""
        ...

    def due(self, unit: Unit) -> Decided:
        """Decides what is due at `unit.now_ms`; NOTHING once nothing is."""
        ...

    def next_due_ms(self) -> int | None:
        """When `due` has something to decide next."""
        ...

    def cannot(self, message: object, why: str, unit: Unit) -> Decided:
        """Decides instead what to do about a message whose decision can't be written (too large, no Unicode)."""
        ...

    async def settle(self, unit: Unit) -> None:
        """May wait, for a bounded time, for what should go into this unit still."""
        ...

    def committed(self, mailbox: Mailbox) -> None:
        """Everything decided counts now: starts the tasks that are owed; they report to the mailbox."""
        ...

    def end(self) -> None:
        """From here on no task is started; those that are under way go on, and may report."""
        ...

    async def close(self) -> None:
        """Ends its tasks."""
        ...


class Replica(Protocol):
    """What a process knows of the publishing journal."""

    @property
    def position(self) -> int:
        """The number of the last append that it folded."""
        ...

    async def reached(self, position: int) -> None:
        """Waits until `position` is at least this."""
        ...


class _Reach(NamedTuple):
    """How far one turn came with its mail, and why no further."""

    used: int
    """Items that are done with."""
    publishing: int = 0
    """The publishing position that the next one rests on; 0 where it waits for none."""
    schema: str = ""
    """The fingerprint of the next one, where this release doesn't know it and has not asked who does."""


class Ownership:
    """Folds a shard's journal, owns it, and works off its inbox."""

    def __init__(
        self,
        *,
        context: str,
        partition: int,
        source: str,
        handler: Handler,
        replica: Replica | None,
        wire: Log,
        codec: Codec,
        schemas: Schemas,
        clock: Clock,
        ids: Ids,
        topics: Topics,
        bounds: Bounds,
        keeper: Keeper | None = None,
    ) -> None:
        """Without a keeper the journal is folded from its beginning each time."""
        self.journal: Journal | None = None
        self.messages = 0
        """Messages consumed since it was opened."""
        self._context = context
        self._partition = partition
        self._handler = handler
        self._replica = replica
        self._log = wire
        self._codec = codec
        self._schemas = schemas
        self._clock = clock
        self._ids = ids
        self._topics = topics
        self._bounds = bounds
        self._inbox: Shard = topics.inbox(context, partition)
        self._book = Book()
        self._changed_received: dict[str, int] = {}
        self._changed_delivered: dict[str, int] = {}
        self._counted = Counted()
        self._at = START
        self._keeper = keeper
        self._nobodys_schema = ""
        """The last fingerprint that was asked for and that nobody has registered."""
        self._mailbox = Mailbox(bounds.mailbox_records_max)
        self._delivering = False
        """Whether the couriers have what was promised before this ownership."""
        self._stopping = False
        self._couriers = Couriers(
            source=source, wire=wire, codec=codec, topics=topics, bounds=bounds, delivered=self._was_delivered
        )

    # ---- opening ----------------------------------------------------------------------------------------------

    async def open(self, still_assigned: Callable[[], Awaitable[bool]]) -> None:
        """Becomes the owner. Raises what `Journal.open` raises."""
        start = START
        found = None if self._keeper is None else await self._keeper.load(self._log, self._bounds.read_wait_s)
        if found is not None:
            book, state = found.states
            assert isinstance(book, KeptBook), "expected what `kept` gave"
            self._book = self._counted.restore(book)
            self._handler.restore(state)
            start = found.position
        self.journal = await Journal.open(
            self._log,
            self._topics.journal(self._context, self._partition),
            ids=self._ids,
            start=start,
            fold=self.fold,
            note=self._note_of_opened,
            still_assigned=still_assigned,
            wait_s=self._bounds.read_wait_s,
        )
        if self._keeper is not None:
            self._keeper.opened()
        if self._replica is not None:
            await self._replica.reached(self._book.publishing)

    def fold(self, append: Append) -> None:
        """Takes an append that counts, whoever wrote it. Raises `Unfoldable`."""
        book, codec, journal = self._book, self._codec, self._topics.journal(self._context, self._partition)
        progress = recorded(codec, journal, append.base, append.note)
        if not isinstance(progress, Progress):
            raise TypeError(f"expected a Progress in the frame at offset {append.base}, found {type(progress)}")
        book.inbox = progress.inbox
        book.publishing = progress.publishing
        book.received.update(progress.received)
        book.delivered.update(progress.delivered)
        promised: list[Outgoing] = []
        for entry in append.entries:
            if is_event(entry):
                stream = entry.key.decode("utf-8", "surrogatepass")
                headers = dict(entry.headers)
                book.revisions[stream] = int(headers["revision"])
                self._handler.apply(stream, recorded(codec, journal, entry.offset, entry.value))
            else:
                promised.append(self._fold_promise(journal, entry, append.frame.number))
        self._count(progress, promised, append.frame.size, behind(append))

    def _fold_promise(self, journal: Shard, entry: Stored, append: int) -> Outgoing:
        start = next(i for i, (name, _) in enumerate(entry.headers) if name == "destination")
        destination = entry.headers[start][1].decode()
        kept = entry.headers[start + 1 :]
        found = dict(kept)
        number = int(found["number"])
        self._book.promised[destination] = number
        if for_users(destination):
            # Also what only the courier needs: what it couldn't read would be found when nobody looks any more.
            message = recorded(self._codec, journal, entry.offset, entry.value)
            if isinstance(message, Reply):
                command = answered(message)
                self._book.answers[command] = message
                append = self._book.answered_at.setdefault(command, append)
        return Outgoing(destination, number, entry.key, entry.value, kept, append)

    def _note_of_opened(self) -> bytes:
        book = self._book
        return self._codec.encode(
            Progress(
                inbox=book.inbox,
                received=tuple(book.received.items()),
                delivered=tuple(book.delivered.items()),
                answered=(),
                publishing=book.publishing,
            )
        )

    @property
    def undelivered(self) -> Waiting | None:
        """Promises that count and are not known to have arrived; None until those of earlier owners are among them."""
        return self._couriers.waiting if self._delivering else None

    # ---- the loop ---------------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Works until `stop`. Raises `Lost` and what the port raises; the caller opens anew, with a new object."""
        reader = self._log.reader(self._inbox, self._book.inbox)
        filling = asyncio.create_task(self._mailbox.fill(reader, self._bounds.read_wait_s))
        filling.add_done_callback(lambda _: self._mailbox.wake())
        self._couriers.put([one for kept in self._counted.undelivered.values() for one in kept])
        self._delivering = True
        self._handler.committed(self._mailbox)
        try:
            while not self._stopping:
                await self._mailbox.wait(self._until_due())
                if filling.done():
                    filling.result()
                await self._turn()
            await self._end()
        finally:
            filling.cancel()
            await asyncio.gather(filling, return_exceptions=True)
            await reader.close()

    async def _end(self) -> None:
        """In order: what has ended here is committed, what was promised is delivered, and what was folded is kept."""
        # Nothing new is called any more, so that there are only so many reports.
        while self._mailbox.leave_reports():
            await self._turn()
        try:
            await asyncio.wait_for(self._couriers.drained(), self._bounds.stop_s)
        except TimeoutError:
            log.warning(
                "%s/%d stops with promises undelivered; they are in the journal", self._context, self._partition
            )
        if self._keeper is not None and self._keeper.worth_finishing:
            await self._keeper.finish(self._at, *self.kept())

    def stop(self) -> None:
        """Asks `work` to end after the turn that is under way, and those for what its tasks have reported by then."""
        self._stopping = True
        self._handler.end()
        self._mailbox.wake()

    async def close(self) -> None:
        """Ends all tasks; nothing is written any more."""
        await self._handler.close()
        await self._couriers.close()
        if self._keeper is not None:
            await self._keeper.close()

    def _until_due(self) -> float | None:
        due = self._handler.next_due_ms()
        # The loop's time stands while the machine sleeps, the clock does not: so it is looked at now and then.
        return None if due is None else min(CLOCK_LOOK_S, max(0.0, (due - self._clock.now_ms()) / 1000))

    async def _turn(self) -> None:
        """One unit: decides what is there, and appends it."""
        items = self._mailbox.take()
        unit = self._unit()
        reach = self._decide(items, unit)
        self._mailbox.put_back(items[reach.used :])
        # What was decided is appended first: until then the state is ahead of the journal, and may not be left so.
        if unit.undecided and reach.schema:
            await self._ask_for_schema(reach.schema, items[reach.used])
            return
        if unit.undecided and reach.publishing > unit.publishing:
            if self._replica is None:
                # Nothing of publishing rests on what its owner has not appended, so somebody else has: waiting would
                # be for ever, and trying again at once would let nothing else on this loop have its turn.
                raise Lost(
                    f"expected messages that rest on appends up to {unit.number - 1} in {self._inbox}, found one that "
                    f"rests on append {reach.publishing}: another process owns the shard"
                )
            await self._replica.reached(reach.publishing)
            return
        await self._handler.settle(unit)
        if not unit.empty:
            await self._append(unit)

    def _unit(self) -> Unit:
        assert self.journal is not None, "expected open before work"
        number = self.journal.position.number + 1
        # What publishing promises rests on the very append that promises it.
        publishing = number if self._replica is None else max(self._book.publishing, self._replica.position)
        return Unit(
            book=self._book,
            codec=self._codec,
            topics=self._topics,
            apply=self._handler.apply,
            now_ms=self._clock.now_ms(),
            number=number,
            publishing=publishing,
            bytes_max=self._log.batch_bytes_max * 3 // 4,
        )

    def _decide(self, items: list[Item], unit: Unit) -> _Reach:
        """Decides items in order as far as the unit goes."""
        due_ms = self._handler.next_due_ms()
        while due_ms is not None and due_ms <= unit.now_ms:
            decided = self._handler.due(unit)
            if decided is NOTHING:
                break
            if not self._take(partial(_same, decided), None, self._handler.cause(None), unit):
                return _Reach(0)
            due_ms = self._handler.next_due_ms()
        inbox = str(self._inbox)
        for used, item in enumerate(items):
            if used >= self._bounds.unit_messages_max:
                return _Reach(used)
            if isinstance(item, Local):
                local = item.item
                cause = self._handler.cause(local)
                if not self._take(partial(self._handler.local, local, unit), local, cause, unit):
                    return _Reach(used)
                continue
            try:
                received = receive(self._codec, inbox, item)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one record, the ones behind it go on
                schema = self._codec.unknown_schema(item.value) or ""
                if schema and schema != self._nobodys_schema:
                    return _Reach(used, schema=schema)
                received = unreadable(self._inbox, item, error)
            if received.publishing > unit.publishing:
                return _Reach(used, received.publishing)
            if not self._consume(received, unit):
                return _Reach(used)
        return _Reach(len(items))

    async def _ask_for_schema(self, fingerprint: str, item: Item) -> None:
        """A message of a newer release must not become a dead letter: this process leaves it to one that knows it.

        Whoever writes registers first, so what is not registered now is no message, of whichever release. Raises
        `NewerRelease`, and what the port raises.
        """
        found = await self._schemas.find(fingerprint)
        if found is not None:
            at = f"{self._inbox}@{item.offset}" if isinstance(item, Stored) else str(self._inbox)
            raise NewerRelease(
                f"this release doesn't know the {found} at {at}, which a newer release wrote; upgrade this process. "
                "The message stays where it is until one that knows it owns the shard"
            )
        self._nobodys_schema = fingerprint

    def _consume(self, received: Received, unit: Unit) -> bool:
        """Whether the message is done with; False where it has to wait for the next unit."""
        book = self._book
        source, number = received.source, received.number
        if not source or number > book.received.get(source, 0):
            if not self._take(lambda: self._decision(received, unit), received.message, received.cause, unit):
                return False
            if source:
                book.received[source] = self._changed_received[source] = number
        book.inbox = received.offset + 1
        self.messages += 1
        return True

    def _decision(self, received: Received, unit: Unit) -> Decided:
        message = received.message
        if isinstance(message, RejectStimulus) and self._context != "routing":
            return Decision((), (Intent("routing", message.dead_letter_id, message),))
        if (answer := earlier_answer(self._book.answers, message)) is not None:
            return Decision((), (Intent("replies", answer.command_id, answer),))
        return self._handler.handle(received, unit)

    def _take(self, decide: Callable[[], Decided], message: object, cause: Cause, unit: Unit) -> bool:
        """Decides and puts it into the unit; False, with nothing changed, where it has to wait for the next one."""
        try:
            return self._put(decide(), message, cause, unit)
        except Full as full:
            if not full.alone:
                return False
            why = str(full)
        except ValueError as error:  # what the codec raises for what can't be written
            why = str(error)
        log.warning("%s/%d can't write a decision: %s", self._context, self._partition, why)
        return self._put(self._handler.cannot(message, why, unit), message, cause, unit)

    def _put(self, decided: Decided, message: object, cause: Cause, unit: Unit) -> bool:
        if decided is NOTHING:
            return True
        unit.take(with_answer(decided, message), cause)
        return True

    # ---- committing -------------------------------------------------------------------------------------------

    async def _append(self, unit: Unit) -> None:
        assert self.journal is not None, "expected open before work"
        book = self._book
        received, self._changed_received = self._changed_received, {}
        delivered, self._changed_delivered = self._changed_delivered, {}
        book.publishing = unit.publishing
        progress = Progress(
            inbox=book.inbox,
            received=tuple(received.items()),
            delivered=tuple(delivered.items()),
            answered=tuple(unit.answered),
            publishing=unit.publishing,
        )
        entries = unit.events + unit.intents
        await self.journal.append(self._codec.encode(progress), entries)
        self._couriers.put(unit.outgoing)
        self._count(progress, unit.outgoing, 1 + len(entries), self.journal.position)
        self._handler.committed(self._mailbox)

    def _count(self, progress: Progress, promised: Sequence[Outgoing], records: int, at: Position) -> None:
        """Takes an append that counts, in replay as in life; nothing is decided here that doesn't count."""
        self._counted.note(progress, promised)
        answers = self._book.answers
        while len(answers) > ANSWERS_KEPT_MAX:
            oldest = next(iter(answers))
            del answers[oldest]
            self._book.answered_at.pop(oldest, None)
        self._at = at
        if self._keeper is not None:
            self._keeper.folded(records)
            # Also while it is being opened: who is interrupted again and again still comes further each time.
            if self._keeper.due:
                self._keeper.write(at, *self.kept())

    def kept(self) -> tuple[object, ...]:
        """What a snapshot keeps, behind the last append; to be asked for where nothing is decided beyond that."""
        # Copies make many objects at once, which would set the collector off over all that the process holds.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._handler.form.copies(self._counted.keep(self._book), self._handler.keep())
        finally:
            if collecting:
                gc.enable()

    def _was_delivered(self, destination: str, number: int) -> None:
        self._book.delivered[destination] = self._changed_delivered[destination] = number


def _same(decided: Decided) -> Decided:
    return decided
