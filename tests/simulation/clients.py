"""What users do in a simulated run: items of the plan, carried out as any client would, with all that they are told.

Clients write and ask through a connection of their own, or through the process that answers callers, which may die
while they wait. They are as stubborn as the plan says: a patient one sends the same command until it is answered,
another one gives up at the first doubt and never learns.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from interlock.domain.messages import CancelExecution, Origin, Owner, Publish, Restore, RouteStimulus, Unpublish
from interlock.domain.publishing.candidate import Wish
from interlock.domain.publishing.preflight import preflight
from interlock.domain.refusal import Refusal
from interlock.domain.routing.intake import read_stimulus
from interlock.log.journal import JournalReader
from interlock.log.port import Doubt, LogError, Record, Refused, Unavailable
from interlock.runtime.gateway import Answer, Gateway
from interlock.runtime.rebuilds import RebuildFiles, RebuildReport
from interlock.runtime.verifications import VerifyFiles, VerifyReport
from tests.simulation.checks import Violation
from tests.simulation.checks.upkeep import check_verified
from tests.simulation.items import (
    SHARDS,
    CancelItem,
    FollowItem,
    Item,
    MalformedItem,
    PreflightItem,
    PublishItem,
    RebuildItem,
    ReconcileItem,
    RepeatItem,
    SlotItem,
    StimulusItem,
    VerifyItem,
)
from tests.simulation.ledger import Ledger, Looked, Sent, Told, Word
from tests.simulation.workflows import DEFINITIONS, document, stimulus
from tests.simulation.world import World

ANSWER_S: Final = 20.0
"""How long a client waits for an answer before it asks again."""
AGAIN_S: Final = 0.5


class Clients:
    """All clients of one run."""

    def __init__(self, world: World) -> None:
        self.ledger = Ledger()
        self.runs: dict[str, None] = {}
        """Executions that somebody has heard of, for those who cancel; filled by whoever follows the journals."""
        self.followers: list[Follower] = []
        self._world = world
        self._gateway = Gateway(world.shared, world.codec, world.topics, read_wait_s=5.0)
        self._revisions: dict[tuple[str, str], int] = {}
        """Definition and slot → the revision that was told last."""

    async def listen(self) -> None:
        """Hears answers, until it is cancelled."""
        await self._gateway.run()

    async def do(self, item: Item) -> bool:
        """Carries an item out; False where it is none of the clients'."""
        match item:
            case PublishItem():
                await self._publish(item)
            case StimulusItem():
                await self._stimulus(item)
            case MalformedItem():
                await self._write(f"malformed-{item.seed}", item.value, random.Random(item.seed))
            case SlotItem():
                await self._change_slot(item)
            case CancelItem():
                await self._cancel(item)
            case PreflightItem():
                self._preflight(item)
            case RebuildItem():
                self._rebuild(item)
            case VerifyItem():
                await self._verify(item)
            case RepeatItem():
                await self._repeat(item)
            case ReconcileItem():
                await self._reconcile(item)
            case FollowItem():
                await self._follow(item)
            case _:
                return False
        return True

    # ---- commands -------------------------------------------------------------------------------------------------

    def _expected(self, item: PublishItem | SlotItem | PreflightItem) -> int | None:
        """The revision that a client names."""
        seen = self._revisions.get((DEFINITIONS[item.definition].name, item.slot or "default"), 0)
        return {"nothing": None, "seen": seen, "before": max(0, seen - 1), "unheard of": seen + 1_000}[item.expects]

    def _heard(self, item: PublishItem | SlotItem, answer: Answer | None) -> None:
        """Remembers the revision that was told."""
        if answer is None or answer.status != "done":
            return
        revision = answer.body.get("revision")
        assert isinstance(revision, int), f"expected a revision in the answer to {answer.command_id}, found {answer}"
        slot = (DEFINITIONS[item.definition].name, item.slot or "default")
        self._revisions[slot] = max(revision, self._revisions.get(slot, 0))

    async def _change_slot(self, item: SlotItem) -> None:
        now_ms = self._world.clock.now_ms()
        message: Unpublish | Restore
        if item.restores:
            message = Restore(
                command_id=item.command_id,
                shell="default",
                definition_id=DEFINITIONS[item.definition].name,
                slot=item.slot,
                publication_id=None,
                expect_revision=self._expected(item),
                requested_by="releaser",
                requested_at_ms=now_ms,
                owner=_owner(item),
                take_over=item.take_over,
            )
        else:
            message = Unpublish(
                command_id=item.command_id,
                shell="default",
                definition_id=DEFINITIONS[item.definition].name,
                slot=item.slot,
                expect_revision=self._expected(item),
                requested_by="releaser",
                requested_at_ms=now_ms,
                owner=_owner(item),
                take_over=item.take_over,
            )
        entry = self.ledger.send("releaser", now_ms, message)
        chance = random.Random(item.seed)
        self._heard(
            item, await self._ask(entry, lambda door: door.publish(message, ANSWER_S), patient=True, chance=chance)
        )

    async def _publish(self, item: PublishItem) -> None:
        expected = self._expected(item)
        chance = random.Random(item.seed)
        await asyncio.gather(
            *(
                self._publish_one(item, rival, expected, random.Random(chance.getrandbits(48)))
                for rival in range(item.rivals)
            )
        )

    async def _publish_one(
        self, item: PublishItem, rival: int, expect_revision: int | None, chance: random.Random
    ) -> None:
        if item.apart and rival:
            item = replace(item, slot="second")
        definition = DEFINITIONS[item.definition]
        text = document(definition, item.version + 1_000 * rival, item.cadence)
        message = Publish(
            command_id=f"{item.command_id}-{rival}",
            shell="default",
            document=text.replace('"steps"', '"stepz"') if item.broken else text,
            slot=item.slot,
            expect_revision=expect_revision,
            requested_by=f"client-{item.seed % 7}",
            requested_at_ms=self._world.clock.now_ms(),
            owner=_owner(item),
            take_over=item.take_over,
        )
        entry = self.ledger.send(message.requested_by, self._world.clock.now_ms(), message)
        answer = await self._ask(
            entry, lambda door: door.publish(message, ANSWER_S), patient=item.patient, chance=chance
        )
        self._heard(item, answer)

    async def _repeat(self, item: RepeatItem) -> None:
        chance = random.Random(item.seed)
        answered = [entry for entry in self.ledger.sent if entry.was_told("done", "refused", "failed")]
        if not answered:
            return
        # Refusals are the rarer ones, and the ones that would be answered otherwise if they were decided anew.
        refused = [entry for entry in answered if not entry.was_told("done", "failed")]
        entry = chance.choice(refused if refused and chance.random() < 0.5 else answered)
        match entry.what:
            case Publish() | Unpublish() | Restore() as message:
                await self._ask(entry, lambda door: door.publish(message, ANSWER_S), patient=False, chance=chance)
            case CancelExecution() as asked:
                await self._ask(entry, lambda door: door.cancel(asked, ANSWER_S), patient=False, chance=chance)
            case _:
                raise AssertionError(f"expected a command that has an answer, found {entry.what!r}")

    async def _cancel(self, item: CancelItem) -> None:
        chance = random.Random(item.seed)
        runs = list(self.runs)
        target = chance.choice(runs) if runs and not item.unknown else f"{chance.getrandbits(128):032x}"
        message = CancelExecution(
            command_id=item.command_id, execution_id=target, requested_by="operator", reason="the plan says so"
        )
        entry = self.ledger.send("operator", self._world.clock.now_ms(), message)
        await self._ask(entry, lambda gateway: gateway.cancel(message, ANSWER_S), patient=item.patient, chance=chance)

    async def _ask(
        self, entry: Sent, ask: Callable[[Gateway], Awaitable[Answer]], *, patient: bool, chance: random.Random
    ) -> Answer | None:
        """Sends a command until it is answered, or gives up where its client does."""
        self._said(entry, f"asks {entry.command_id}")
        while True:
            gateway = self._door(chance)
            if gateway is not None:
                try:
                    answer = await ask(gateway)
                except LogError as error:
                    # The gateway may have sent it before, so this says no more than that nothing is known.
                    self._tell(entry, "doubt", str(error))
                else:
                    self._tell(entry, answer.status, json.dumps(answer.body), body=answer.body)
                    if answer.status != "pending":
                        return answer
                if not patient:
                    return None
            await asyncio.sleep(AGAIN_S)

    def _door(self, chance: random.Random) -> Gateway | None:
        """By which way a command is sent: the client's own, or that of the process that answers callers."""
        if chance.random() < 0.5:
            return self._gateway
        holder = self._world.holder
        return holder.engines[0].gateway if holder.up else None

    # ---- stimuli --------------------------------------------------------------------------------------------------

    async def _stimulus(self, item: StimulusItem) -> None:
        chance = random.Random(item.seed)
        value = stimulus(
            item.name, item.number, key=item.key, correlation=item.correlation, ttl=item.ttl, deliver=item.deliver
        )
        who = f"{item.name}-{item.number}"
        await asyncio.gather(
            *(
                self._write(who, value, random.Random(chance.getrandbits(48)))
                if item.by_log
                else self._emit(who, value, random.Random(chance.getrandbits(48)))
                for _ in range(item.copies)
            )
        )

    async def _write(self, who: str, value: bytes, chance: random.Random) -> None:
        """Writes a record to the topic until it has landed; each writing is an entry of its own."""
        world = self._world
        while True:
            shard = world.topics.user("stimuli", chance.randrange(SHARDS))
            entry = self.ledger.send(who, world.clock.now_ms(), value, shard)
            try:
                offset = await world.shared.send(shard, [Record(b"any", value)])
            except Doubt as error:
                self._tell(entry, "doubt", str(error))
            except Refused as error:
                self._tell(entry, "never", str(error))
            else:
                self._tell(entry, "landed", f"{shard} at {offset}", offset=offset)
                return
            await asyncio.sleep(chance.uniform(0.0, AGAIN_S))

    async def _emit(self, who: str, value: bytes, chance: random.Random) -> None:
        """Gives a stimulus to a gateway until that says that it is durable."""
        world = self._world
        read = read_stimulus(
            value,
            origin=Origin(channel="http"),
            # As the process that answers callers says, whose clock may be wrong.
            arrived_at_ms=world.holder.clock.now_ms(),
            shell="default",
            bytes_max=world.settings.stimulus_bytes_max,
            request_id=f"{chance.getrandbits(64):016x}",
        )
        assert isinstance(read, RouteStimulus), f"expected a stimulus that can be read, found {read}"
        entry = self.ledger.send(who, world.clock.now_ms(), read)
        while True:
            gateway = self._door(chance)
            if gateway is not None:
                try:
                    await gateway.emit(read)
                except LogError as error:
                    self._tell(entry, "doubt", str(error))
                else:
                    self._tell(entry, "landed", "by the gateway")
                    return
            await asyncio.sleep(chance.uniform(0.0, AGAIN_S))

    # ---- looking --------------------------------------------------------------------------------------------------

    def _preflight(self, item: PreflightItem) -> None:
        engines = self._world.holder.engines
        shard = engines[0].publishing if self._world.holder.up else None
        if shard is None:
            return
        definition = DEFINITIONS[item.definition]
        wish = Wish(
            shell="default",
            slot=item.slot,
            expect_revision=self._expected(item),
            owner=_owner(item),
            take_over=item.take_over,
        )
        outcome = preflight(shard, wish, document(definition, item.version, None), now_ms=self._world.clock.now_ms())
        self.ledger.looked.append(
            Looked(
                position=engines[0].replica.position,
                definition_id=definition.name,
                claims=definition.claims,
                wish=wish,
                outcome=outcome,
            )
        )
        told = outcome.sentence if isinstance(outcome, Refusal) else f"{outcome.action} of {outcome.slot_name}"
        self._world.trace.add("client", f"looks ahead at {definition.name}: {told}")

    async def _reconcile(self, item: ReconcileItem) -> None:
        """Nobody changes rows here, so whatever it finds is right where it is and only lags."""
        process = self._world.processes[item.process]
        reconciler = process.engines[0].reconciler if process.up else None
        if reconciler is None:
            return
        self._world.trace.add("operator", f"has {item.process} compare its rows with the slots")
        sweeping = process.in_process(reconciler.sweep(requested_by="operator"))
        await asyncio.wait([sweeping])
        if sweeping.cancelled() or isinstance(sweeping.exception(), LogError):
            return
        if findings := sweeping.result().findings:
            raise Violation(
                "repaired-needlessly", f"expected rows as the slots call for them in {item.process}, found {findings}"
            )

    def _rebuild(self, item: RebuildItem) -> None:
        """Leaves a request where the holder of the views looks for it, as the command line does."""
        folder = self._world.holder.data / "views"
        request = RebuildReport(
            rebuild_id=f"{item.seed:012x}", requested_at_ms=self._world.clock.now_ms(), compare=item.seed % 2 == 0
        )
        RebuildFiles(folder, item.view).ask(request)
        self._world.trace.add("operator", f"asks for a rebuild of {item.view}")

    async def _verify(self, item: VerifyItem) -> None:
        """Asks as the command line does, and waits for the end; not where the files were deleted, the request with
        them. What joined an earlier request has its answer."""
        world = self._world
        files = VerifyFiles(world.holder.data / "views", item.view)
        asked = files.ask(VerifyReport(verify_id=f"{item.seed:012x}", requested_at_ms=world.clock.now_ms()))
        world.trace.add("operator", f"asks for a verification of {item.view}")
        while (report := files.latest()) is not None and report.identity == asked.identity:
            if report.state in ("done", "failed"):
                world.trace.add("operator", f"is told {report.state} of {item.view}: {report.rows} rows")
                check_verified(item.view, report)
                return
            await asyncio.sleep(AGAIN_S)

    async def _follow(self, item: FollowItem) -> None:
        follower = Follower(self._world, item)
        self.followers.append(follower)
        await follower.begin()

    # ---- within ---------------------------------------------------------------------------------------------------

    def _tell(
        self, entry: Sent, word: Word, what: str, *, offset: int = -1, body: dict[str, object] | None = None
    ) -> None:
        entry.told.append(Told(self._world.clock.now_ms(), word, body or {}, offset))
        self._said(entry, f"{entry.command_id or entry.client} is told {word}: {what}")

    def _said(self, entry: Sent, what: str) -> None:
        self._world.trace.add("client", what)


def _owner(item: PublishItem | SlotItem | PreflightItem) -> Owner | None:
    return Owner(kind="team", id=item.owner) if item.owner else None


class Follower:
    """A plain client that begins to read a journal in the middle."""

    def __init__(self, world: World, item: FollowItem) -> None:
        self.found: list[tuple[int, str]] = []
        """Number and id of every append that it saw to count."""
        self._world = world
        self._shard = world.topics.journal(item.context, item.partition)
        self._item = item
        self._reader: JournalReader | None = None

    async def begin(self) -> None:
        """Chooses where to begin."""
        end = (await self._world.quiet.end(self._shard)).end
        first = random.Random(self._item.seed).randint(0, end)
        self._world.trace.add("reader", f"begins to read {self._shard} at {first}")
        self._reader = JournalReader(self._world.shared, self._shard, middle=first)

    async def run_to_end(self) -> None:
        """Reads on, to the end of now."""
        if self._reader is None:
            return
        end = (await self._world.quiet.end(self._shard)).end
        while self._reader.next_offset < end:
            try:
                appends = await self._reader.read(1.0)
            except Unavailable:
                await asyncio.sleep(AGAIN_S)
                continue
            self.found += [(append.frame.number, append.frame.id) for append in appends]

    async def check(self) -> None:
        """Compares what it saw with what a reader from the beginning sees. Raises `Violation`."""
        if self._reader is None:
            return
        await self.run_to_end()
        whole = JournalReader(self._world.quiet, self._shard)
        counted: list[tuple[int, str]] = []
        while whole.next_offset < self._reader.next_offset:
            counted += [(append.frame.number, append.frame.id) for append in await whole.read(0.0)]
        if self.found and self.found != counted[self.found[0][0] - 1 :]:
            raise Violation(
                "every reader folds the same",
                f"expected a reader of {self._shard} that began at append {self.found[0][0]} to see what one from the "
                f"beginning sees, found {len(self.found)} appends of {len(counted)}",
            )
