"""What users do in a simulated run: items of the plan, carried out as any client would, with all that they are told.

Clients write and ask through a connection of their own, or through the process that answers callers, which may die
while they wait. They are as stubborn as the plan says: a patient one sends the same command until it is answered,
another one gives up at the first doubt and never learns.
"""

import asyncio
import json
import random
from collections import defaultdict
from dataclasses import replace
from typing import Final

from interlock.domain.asked import asked_of
from interlock.domain.messages import (
    CancelExecution,
    Origin,
    Owner,
    Publish,
    Restore,
    RouteStimulus,
    StartTestRun,
    Unpublish,
)
from interlock.domain.publishing.candidate import wish_of
from interlock.domain.publishing.preflight import Preflight, preflight, preflight_restore, preflight_unpublish
from interlock.domain.refusal import Refusal
from interlock.domain.routing.intake import read_stimulus
from interlock.log.port import Doubt, LogError, Record, Refused
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.runtime.gateway import Answer, Gateway
from interlock.runtime.rebuilds import RebuildFiles, RebuildReport
from interlock.runtime.verifications import VerifyFiles, VerifyReport
from tests.simulation.asking import Named, sent
from tests.simulation.checks import Violation
from tests.simulation.checks.trials import reference_of, run_of
from tests.simulation.checks.upkeep import check_verified
from tests.simulation.followers import Follower
from tests.simulation.items import (
    SHARDS,
    AnotherItem,
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
    TrialItem,
    VerifyItem,
)
from tests.simulation.ledger import Ledger, Looked, Sent, Told, Word
from tests.simulation.workflows import DEFINITIONS, document, stimulus
from tests.simulation.world import World

ChangeItem = PublishItem | SlotItem | PreflightItem
"""What asks for a change of a slot, or what that would do."""
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
        self._named: dict[str, Named] = defaultdict(Named)
        """Definition → what else answers have named."""

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
                self._preflight(self._seasoned(item) if item.seasoned else item)
            case RebuildItem():
                self._rebuild(item)
            case VerifyItem():
                await self._verify(item)
            case RepeatItem():
                await self._repeat(item)
            case TrialItem():
                await self._try(item)
            case AnotherItem():
                await self._another(item)
            case ReconcileItem():
                await self._reconcile(item)
            case FollowItem():
                await self._follow(item)
            case _:
                return False
        return True

    # ---- commands -------------------------------------------------------------------------------------------------

    def _expected(self, item: ChangeItem) -> int | None:
        """The revision that a client names."""
        seen = self._revisions.get((DEFINITIONS[item.definition].name, item.slot or "default"), 0)
        return {"nothing": None, "seen": seen, "before": max(0, seen - 1), "unheard of": seen + 1_000}[item.expects]

    def _heard(self, item: PublishItem | SlotItem, answer: Answer | None) -> None:
        """Remembers the revision that was told, and what was named."""
        if answer is None:
            return
        self._named[DEFINITIONS[item.definition].name].take(answer)
        if answer.status != "done":
            return
        revision = answer.body.get("revision")
        assert isinstance(revision, int), f"expected a revision in the answer to {answer.command_id}, found {answer}"
        slot = (DEFINITIONS[item.definition].name, item.slot or "default")
        self._revisions[slot] = max(revision, self._revisions.get(slot, 0))

    async def _change_slot(self, item: SlotItem) -> None:
        message = self._request(item, "restore" if item.restores else "unpublish", item.command_id, None)
        entry = self.ledger.send("releaser", self._world.clock.now_ms(), message)
        self._heard(item, await self._ask(entry, patient=True, chance=random.Random(item.seed)))

    def _request(
        self, item: SlotItem | PreflightItem, of: str, command_id: str, publication_id: str | None
    ) -> Unpublish | Restore:
        """To empty a slot, or that it gets back what it selected before."""
        definition, now_ms = DEFINITIONS[item.definition].name, self._world.clock.now_ms()
        if of == "restore":
            return Restore(
                command_id=command_id,
                shell="default",
                definition_id=definition,
                slot=item.slot,
                publication_id=publication_id,
                expect_revision=self._expected(item),
                requested_by="releaser",
                requested_at_ms=now_ms,
                owner=_owner(item),
                take_over=item.take_over,
            )
        return Unpublish(
            command_id=command_id,
            shell="default",
            definition_id=definition,
            slot=item.slot,
            expect_revision=self._expected(item),
            requested_by="releaser",
            requested_at_ms=now_ms,
            owner=_owner(item),
            take_over=item.take_over,
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
        self._heard(item, await self._ask(entry, patient=item.patient, chance=chance))

    async def _repeat(self, item: RepeatItem) -> None:
        chance = random.Random(item.seed)
        answered = [entry for entry in self.ledger.sent if entry.was_told("done", "refused", "failed")]
        if not answered:
            return
        # Refusals are the rarer ones, and the ones that would be answered otherwise if they were decided anew.
        refused = [entry for entry in answered if not entry.was_told("done", "failed")]
        entry = chance.choice(refused if refused and chance.random() < 0.5 else answered)
        await self._ask(entry, patient=False, chance=chance)

    async def _try(self, item: TrialItem) -> None:
        definition, chance = DEFINITIONS[item.definition], random.Random(item.seed)
        of_version = not item.draft and not item.reference
        # There is none where no answer has named any.
        version = chance.choice(self._named[definition.name].versions or ["of nobody"]) if of_version else ""
        message = StartTestRun(
            command_id=item.command_id,
            shell="default",
            document=document(definition, item.draft, None) if item.draft else "",
            definition_id=definition.name if of_version else "",
            version=version,
            reference_id=reference_of("default", item.reference) if item.reference else "",
            data=json.dumps({"key": f"k{item.number}"}),
            requested_by="author",
            requested_at_ms=self._world.clock.now_ms(),
        )
        entry = self.ledger.send("author", self._world.clock.now_ms(), message)
        await self._ask(entry, patient=item.patient, chance=chance)

    async def _another(self, item: AnotherItem) -> None:
        """Under the id of a command that may be under way still."""
        chance = random.Random(item.seed)
        changes = Publish | Restore | Unpublish | StartTestRun
        given = [entry for entry in self.ledger.sent if isinstance(entry.what, changes)]
        if not given:
            return
        first = given[-1] if item.of_last else chance.choice(given)
        message = self._other(item, first.command_id)
        known = self.ledger.by_command[first.command_id]
        entry = next((each for each in known if each.asked == asked_of(message)), None)
        entry = entry or self.ledger.send("somebody", self._world.clock.now_ms(), message)
        await self._ask(entry, patient=item.patient, chance=chance)
        if item.again:
            await self._ask(first, patient=False, chance=chance)

    def _other(self, item: AnotherItem, command_id: str) -> Publish | Restore | Unpublish | StartTestRun:
        definition, now_ms = DEFINITIONS[item.definition], self._world.clock.now_ms()
        if item.verb in ("restore", "unpublish"):
            slot = PreflightItem(
                at_s=item.at_s, seed=item.seed, definition=item.definition, version=item.version, slot=item.slot
            )
            return self._request(slot, item.verb, command_id, None)
        text = document(definition, item.version, None)
        if item.verb == "trial":
            return StartTestRun(
                command_id=command_id,
                shell="default",
                document=text,
                definition_id="",
                version="",
                reference_id="",
                data="{}",
                requested_by="somebody",
                requested_at_ms=now_ms,
            )
        return Publish(
            command_id=command_id,
            shell="default",
            document=text,
            slot=item.slot,
            expect_revision=None,
            requested_by="somebody",
            requested_at_ms=now_ms,
        )

    async def _cancel(self, item: CancelItem) -> None:
        chance = random.Random(item.seed)
        runs = list(self.runs)
        target = chance.choice(runs) if runs and not item.unknown else f"{chance.getrandbits(128):032x}"
        message = CancelExecution(
            command_id=item.command_id, execution_id=target, requested_by="operator", reason="the plan says so"
        )
        entry = self.ledger.send("operator", self._world.clock.now_ms(), message)
        await self._ask(entry, patient=item.patient, chance=chance)

    async def _ask(self, entry: Sent, *, patient: bool, chance: random.Random) -> Answer | None:
        """Sends a command until it is answered, or gives up where its client does."""
        self._said(entry, f"asks {entry.command_id}")
        while True:
            gateway = self._door(chance)
            if gateway is not None:
                try:
                    answer = await sent(gateway, entry.what)
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
            item.name,
            item.number,
            key=item.key,
            correlation=item.correlation,
            ttl=item.ttl,
            deliver=item.deliver,
            test_run=run_of("default", item.trial) if item.trial else None,
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

    def _seasoned(self, item: PreflightItem) -> PreflightItem:
        slots = [slot for slot, revision in self._revisions.items() if revision >= 2]
        if not slots:
            return item
        name, slot = random.Random(item.seed).choice(slots)
        definition = next(index for index, one in enumerate(DEFINITIONS) if one.name == name)
        return replace(item, definition=definition, slot=None if slot == "default" else slot)

    def _preflight(self, item: PreflightItem) -> None:
        engines = self._world.holder.engines
        shard = engines[0].publishing if self._world.holder.up else None
        if shard is None:
            return
        definition, now_ms = DEFINITIONS[item.definition], self._world.clock.now_ms()
        heard = self._named[definition.name].publications
        # Whoever has heard of none names what is of nobody.
        of_one = random.Random(item.seed).choice(heard) if heard and item.names == "heard of" else "0" * 32
        named = None if item.names == "none" else of_one
        outcome: Preflight | Refusal
        request = self._request(item, item.of, "ahead", named)
        wish = wish_of(request)
        if item.of == "publish":
            outcome = preflight(shard, wish, document(definition, item.version, None), now_ms=now_ms)
        elif isinstance(request, Restore):
            outcome = preflight_restore(shard, request, now_ms=now_ms)
        else:
            outcome = preflight_unpublish(shard, request)
        self.ledger.looked.append(
            Looked(
                position=engines[0].replica.position,
                definition_id=definition.name,
                claims=definition.claims if item.of == "publish" else (),
                wish=wish,
                of=item.of,
                publication_id=named if item.of == "restore" else None,
                outcome=outcome,
            )
        )
        told = outcome.sentence if isinstance(outcome, Refusal) else f"{outcome.action} of {outcome.slot_name}"
        self._world.trace.add("client", f"looks ahead at {item.of} of {definition.name}: {told}")

    async def _reconcile(self, item: ReconcileItem) -> None:
        """Whatever it finds that nobody has tampered with is right where it is and only lags."""
        process = self._world.processes[item.process]
        reconciler = process.engines[0].reconciler if process.up else None
        if reconciler is None:
            return
        self._world.trace.add("operator", f"has {item.process} compare its rows with the slots")
        sweeping = process.in_process(reconciler.sweep(requested_by="operator"))
        await asyncio.wait([sweeping])
        if sweeping.cancelled() or isinstance(sweeping.exception(), LogError):
            return
        if findings := [one for one in sweeping.result().findings if one.publication_id not in self._world.tampered]:
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
                if item.view != TRIGGER_INDEX.name or not world.tampered:
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


def _owner(item: ChangeItem) -> Owner | None:
    return Owner(kind="team", id=item.owner) if item.owner else None
