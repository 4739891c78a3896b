"""Who may start what, by a model that is written down anew: slots, publications, claims, and what routing decided by.

Rules: publication-life, repaired-wrongly, slot-revision, slot-replaced, cas-skipped, activation-position,
activation-torn, two-active, exclusive-claimed-twice, activated-unprepared, served-early, reached-unpromised,
reached-early, active-early, position-ahead, position-falls, start-of-retired, start-missing, start-twice,
start-wrong-run, start-unpromised, old-after-active.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field

from interlock.domain import sharding
from interlock.domain.messages import ProjectionAnswered, Reply, RoutingReached, StartExecution
from interlock.domain.publishing.publication.events import (
    ProjectionPrepared,
    PublicationActivated,
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationStaged,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceRetired
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.routing.stimulus.events import StimulusRouted
from tests.simulation.checks import Violation
from tests.simulation.checks.tape import Commit, Fact, Home, expect

_NEXT: dict[type, tuple[str, ...]] = {
    PublicationStaged: ("requested",),
    ProjectionPrepared: ("staged",),
    PublicationActivated: ("staged",),
    RoutingShardReached: ("active", "retired"),
    PublicationServed: ("active", "retired"),
    PublicationRetired: ("active",),
    PublicationFailed: ("requested", "staged"),
    PublicationSuperseded: ("requested", "staged"),
}
_STATUS: dict[type, str] = {
    PublicationStaged: "staged",
    PublicationActivated: "active",
    PublicationRetired: "retired",
    PublicationFailed: "failed",
    PublicationSuperseded: "superseded",
}


@dataclass(slots=True)
class Life:
    """One publication."""

    requested: PublicationRequested
    since: int
    """The append that requested it."""
    status: str = "requested"
    staged: PublicationStaged | None = None
    prepared: set[str] = field(default_factory=set[str])
    activated: PublicationActivated | None = None
    reached: set[int] = field(default_factory=set[int])
    served: bool = False
    until: int = 0
    """The append that replaced it; 0 while none did."""
    referred: int = 0
    """The append that created its source reference; 0 before."""
    released: int = 0
    """The append that retired its source reference; 0 before."""


@dataclass(slots=True)
class Emptying:
    """One unpublish that has emptied a slot."""

    done: Unpublished
    reached: set[int] = field(default_factory=set[int])
    served: bool = False


class AuthorityCheck:
    """Follows publishing, and holds each decision of routing against it."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.emptyings: dict[str, Emptying] = {}
        self.references: dict[str, str] = {}
        """Source reference of a publication → that; those of test runs are followed by `trials`."""
        self.unpublishes: dict[str, str] = {}
        """Each unpublish that has come to a fact → what its command asked for."""
        self.slots: dict[str, list[tuple[int, str]]] = defaultdict(list)
        """Slot → (append, publication) of each revision; "" where it was emptied."""
        self.position = 0
        """The number of publishing's last append."""
        self.decided: dict[Home, int] = defaultdict(int)
        """Routing shard → the position that it last decided at."""
        self.reached: dict[str, dict[int, int]] = defaultdict(dict)
        """Publication → routing shard → the highest position that it promised to have reached for it."""
        self.floors: dict[Home, tuple[int, int]] = {}
        """Routing shard → (append, position): later appends decide at the position or later, as a client was told."""
        self._told: set[tuple[str, str]] = set()
        """Command and what it asked for, of those that were answered as done; a repetition gets the same answer,
        whatever is so by then."""
        self.prepared_answers: set[tuple[str, str]] = set()
        """Publication and view that a holder has answered as prepared."""

    # ---- publishing ---------------------------------------------------------------------------------------------

    def answered(self, message: ProjectionAnswered) -> None:
        """A holder's answer lies in the inbox."""
        if message.prepared:
            self.prepared_answers.add((message.publication_id, message.kind))

    def publishing(self, commit: Commit) -> None:
        """Takes an append of publishing."""
        self.position = commit.number
        switched: list[SlotActivated | SlotEmptied] = []
        for fact in commit.facts:
            event = fact.event
            if isinstance(event, PublicationRequested):
                expect(
                    event.publication_id not in self.lives, "publication-life", f"expected one request, found {fact}"
                )
                self.lives[event.publication_id] = Life(event, fact.number)
            elif type(event) in _NEXT:
                self._step(fact, event)
            elif isinstance(event, SlotActivated | SlotEmptied):
                switched.append(event)
                self._switch(fact, event)
            elif isinstance(event, Unpublished | UnpublishSuperseded | UnpublishShardReached | UnpublishServed):
                self._unpublish(fact, event)
            elif isinstance(event, SourceReferenceCreated) and event.kind == "published":
                self.references[event.reference_id] = event.publication_id
                self.lives[event.publication_id].referred = fact.number
            elif isinstance(event, SourceReferenceRetired) and event.reference_id in self.references:
                self.lives[self.references[event.reference_id]].released = fact.number
            elif isinstance(event, ProjectionRepaired):
                self._repaired(fact, event)
        for selected in switched:
            self._whole(commit, selected)
        if any(isinstance(fact.event, SlotActivated | SlotEmptied | PublicationActivated) for fact in commit.facts):
            self._alone(commit)
            self._claims(commit)
        for promise in commit.promises:
            message = promise.message
            if isinstance(message, Reply) and message.status == "done":
                if (message.command_id, message.asked) not in self._told:
                    done = self._done(commit, message)
                    expect(done, "active-early", f"expected only what is so to be answered as done, found {promise}")
                self._told.add((message.command_id, message.asked))

    def _step(self, fact: Fact, event: object) -> None:
        life = self.lives.get(getattr(event, "publication_id", ""))
        status = "none" if life is None else life.status
        if life is None or status not in _NEXT[type(event)]:
            raise Violation(
                "publication-life",
                f"expected {type(event).__name__} after {' or '.join(_NEXT[type(event)])}, found it after {status}: "
                f"{fact}",
            )
        life.status = _STATUS.get(type(event), life.status)
        again = (
            (isinstance(event, ProjectionPrepared) and event.kind in life.prepared)
            or (isinstance(event, RoutingShardReached) and event.partition in life.reached)
            or (isinstance(event, PublicationServed) and life.served)
        )
        expect(not again, "publication-life", f"expected {type(event).__name__} once, found it again: {fact}")
        match event:
            case PublicationStaged():
                life.staged = event
            case ProjectionPrepared():
                answered = (event.publication_id, event.kind) in self.prepared_answers
                expect(answered, "activated-unprepared", f"expected an answer of {event.kind!r} before {fact}")
                life.prepared.add(event.kind)
            case PublicationActivated():
                self._activated(fact, event, life)
            case PublicationRetired():
                life.until = fact.number
            case RoutingShardReached():
                position = 0 if life.activated is None else life.activated.position
                self._promised_before(fact, event.publication_id, event.partition, position)
                life.reached.add(event.partition)
            case PublicationServed():
                count = 0 if life.activated is None else life.activated.routing_shards
                if life.reached != set(range(count)):
                    raise Violation("served-early", f"expected {count} shards before {fact}, found {life.reached}")
                life.served = True
            case _:
                pass

    def _activated(self, fact: Fact, event: PublicationActivated, life: Life) -> None:
        life.activated = event
        if event.position != fact.number:
            raise Violation("activation-position", f"expected position {fact.number}, found {event.position}: {fact}")
        if event.revision != life.requested.expected_revision + 1:
            raise Violation(
                "cas-skipped",
                f"expected {fact} to take the slot at the revision that it observed "
                f"({life.requested.expected_revision}), found that it made revision {event.revision}",
            )
        required = set(() if life.staged is None else life.staged.required_projections)
        if not required <= life.prepared:
            raise Violation("activated-unprepared", f"expected {required} before {fact}, found {life.prepared}")

    def _switch(self, fact: Fact, event: SlotActivated | SlotEmptied) -> None:
        history = self.slots[event.slot_id]
        if event.revision != len(history) + 1:
            raise Violation("slot-revision", f"expected {len(history) + 1}, found {event.revision}: {fact}")
        before = history[-1][1] if history else ""
        replaced = event.replaced_publication_id if isinstance(event, SlotActivated) else event.publication_id
        if replaced != before or (isinstance(event, SlotEmptied) and not before):
            raise Violation("slot-replaced", f"expected {before!r} to be replaced, found {replaced!r}: {fact}")
        history.append((fact.number, event.publication_id if isinstance(event, SlotActivated) else ""))

    def _whole(self, commit: Commit, changed: SlotActivated | SlotEmptied) -> None:
        """One append holds all of a switch."""
        if isinstance(changed, SlotActivated):
            done: object = (
                self.lives[changed.publication_id].activated if changed.publication_id in self.lives else None
            )
            replaced = changed.replaced_publication_id
        else:
            emptying = self.emptyings.get(changed.unpublish_id)
            done = None if emptying is None else emptying.done
            replaced = changed.publication_id
        whole = isinstance(done, PublicationActivated | Unpublished) and done.position == commit.number
        whole = whole and getattr(done, "revision", 0) == changed.revision
        if isinstance(changed, SlotActivated):
            whole = whole and self.lives[changed.publication_id].referred == commit.number
        if replaced:
            ended = self.lives[replaced]
            whole = whole and ended.until == ended.released == commit.number
        expect(whole, "activation-torn", f"expected all that goes with it beside {changed} in {commit}")

    def _unpublish(
        self, fact: Fact, event: Unpublished | UnpublishSuperseded | UnpublishShardReached | UnpublishServed
    ) -> None:
        emptying = self.emptyings.get(event.unpublish_id)
        if isinstance(event, Unpublished | UnpublishSuperseded):
            expect(event.unpublish_id not in self.unpublishes, "publication-life", f"expected one outcome: {fact}")
            self.unpublishes[event.unpublish_id] = event.asked
            if isinstance(event, Unpublished):
                self._emptied(fact, event)
            return
        if emptying is None or emptying.served:
            raise Violation("publication-life", f"expected it to be under way, found {emptying} at {fact}")
        if isinstance(event, UnpublishShardReached):
            self._promised_before(fact, emptying.done.publication_id, event.partition, emptying.done.position)
            emptying.reached.add(event.partition)
            return
        if emptying.reached != set(range(emptying.done.routing_shards)):
            raise Violation("served-early", f"expected every shard before {fact}, found {emptying.reached}")
        emptying.served = True

    def _emptied(self, fact: Fact, event: Unpublished) -> None:
        self.emptyings[event.unpublish_id] = Emptying(event)
        if event.position != fact.number:
            raise Violation("activation-position", f"expected position {fact.number}, found {event.position}: {fact}")
        if event.revision != event.expected_revision + 1:
            raise Violation("cas-skipped", f"expected it at the revision observed, found {event}: {fact}")

    def _promised_before(self, fact: Fact, publication_id: str, partition: int, position: int) -> None:
        found = self.reached[publication_id].get(partition, 0)
        if found < position:
            raise Violation(
                "reached-unpromised",
                f"expected routing shard {partition} to have promised position {position} or later before {fact}, "
                f"found {found}",
            )

    def _repaired(self, fact: Fact, event: ProjectionRepaired) -> None:
        """It restates what is so."""
        life = self.lives.get(event.publication_id)
        status = "" if life is None else life.status
        standing = {"requested": "requested", "staged": "prepared", "active": "active"}.get(status, "gone")
        staged = life.staged if life is not None and standing in ("prepared", "active") else None
        bindings = () if staged is None else staged.bindings
        if (event.standing, event.bindings) != (standing, bindings):
            raise Violation("repaired-wrongly", f"expected {standing} with {bindings}, found {event} in {fact}")

    def _done(self, commit: Commit, reply: Reply) -> bool:
        """Whether what is answered as done is so."""
        told = json.loads(reply.body)
        match told.get("status"):
            case "active":
                published = (one.requested for one in self.lives.values() if one.served)
                return any((one.command_id, one.asked) == (reply.command_id, reply.asked) for one in published)
            case "unpublished":
                emptied = (one.done for one in self.emptyings.values() if one.served)
                return any((one.command_id, one.asked) == (reply.command_id, reply.asked) for one in emptied)
            case "started":
                # A test run, which changes no authority; `trials` says whether it is so.
                return True
            case "nothing":
                # An append tells its events first: this may have been decided before any of them, or behind.
                history = self.slots.get(told["slotId"], [])
                before = next((each for number, each in reversed(history) if number < commit.number), "")
                selected = {before, *(each for number, each in history if number == commit.number)}
                return str(told.get("publicationId", "")) in selected
            case _:
                repaired = [one.event for one in commit.facts if isinstance(one.event, ProjectionRepaired)]
                return any(one.reconciliation_id == told.get("reconciliationId") for one in repaired)

    def _alone(self, commit: Commit) -> None:
        """Whoever is active is what its slot selects."""
        for key, life in self.lives.items():
            history = self.slots.get(life.requested.slot_id)
            selected = history[-1][1] if history else ""
            if life.status == "active" and key != selected:
                raise Violation(
                    "two-active", f"expected {selected!r} alone in its slot after {commit}, found {key} active too"
                )

    def _claims(self, commit: Commit) -> None:
        claimants: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for key, life in self.lives.items():
            if life.status == "active" and life.staged is not None:
                for each in life.staged.bindings:
                    claimants[life.requested.shell, each.claim].append((key, each.cardinality))
        for claim, held in claimants.items():
            if len({key for key, _ in held}) > 1 and any(cardinality == "exclusive" for _, cardinality in held):
                raise Violation(
                    "exclusive-claimed-twice", f"expected one claimant of {claim} after {commit}, found {held}"
                )

    # ---- routing ------------------------------------------------------------------------------------------------

    def routing(self, commit: Commit) -> None:
        """Holds an append of routing against who had authority at the position that it was decided at."""
        position = commit.progress.publishing
        if position < self.decided[commit.home]:
            raise Violation(
                "position-falls", f"expected {self.decided[commit.home]} or later in {commit}, found {position}"
            )
        self.decided[commit.home] = position
        if position > self.position:
            raise Violation("position-ahead", f"expected at most {self.position} in {commit}, found {position}")
        after, floor = self.floors.get(commit.home, (0, 0))
        if commit.number > after and position < floor:
            raise Violation(
                "old-after-active",
                f'expected {commit} to decide at position {floor}, of which a client was told "active" while append '
                f"{after} was the last, found that it decided at {position}",
            )
        starts = {
            promise.message.execution_id: promise.message
            for promise in commit.promises
            if isinstance(promise.message, StartExecution)
        }
        for fact in commit.facts:
            if isinstance(fact.event, StimulusRouted):
                self._met(fact, fact.event, position, starts)
        expect(not starts, "start-unpromised", f"expected only starts of stimuli in {commit}, found {list(starts)}")
        for promise in commit.promises:
            message = promise.message
            if isinstance(message, RoutingReached) and position < message.position:
                raise Violation("reached-early", f"expected {message.position} in {commit}, found {position}")

    def promised_to_reach(self, home: Home, message: RoutingReached) -> None:
        """A routing shard has promised that it decides at a position."""
        positions = self.reached[message.publication_id]
        positions[home[1]] = max(positions.get(home[1], 0), message.position)

    def told_active(self, position: int, numbers: dict[Home, int]) -> None:
        """A client was told of an activation or of the end of one, at a position of publishing, while these were the
        last appends of the routing shards."""
        for home, number in numbers.items():
            if position > self.floors.get(home, (0, 0))[1]:
                self.floors[home] = number, position

    def served_at(self, position: int) -> list[Life]:
        """The publications that had authority at a position."""
        found: list[Life] = []
        for history in self.slots.values():
            chosen = [publication for number, publication in history if number <= position]
            if chosen and chosen[-1]:
                found.append(self.lives[chosen[-1]])
        return found

    def _met(self, fact: Fact, event: StimulusRouted, position: int, starts: dict[str, StartExecution]) -> None:
        expected = {
            binding.binding_id: life
            for life in self.served_at(position)
            if life.staged is not None and life.requested.shell == event.shell
            for binding in life.staged.bindings
            if binding.identity == event.identity
        }
        found = [start.binding_id for start in event.starts]
        if len(set(found)) != len(found):
            raise Violation("start-twice", f"expected one run for each binding, found {found} in {fact}")
        if old := [start.publication_id for start in event.starts if start.binding_id not in expected]:
            raise Violation(
                "start-of-retired", f"expected only authorities of position {position} in {fact}, found {old}"
            )
        if missing := set(expected) - set(found):
            raise Violation("start-missing", f"expected runs by {missing}, authoritative at {position}, in {fact}")
        for start in event.starts:
            life = expected[start.binding_id]
            run = sharding.execution_id(event.shell, start.binding_id, event.stimulus_id)
            expect(start.execution_id == run, "start-wrong-run", f"expected run {run} of {start} in {fact}")
            told = starts.pop(run, None)
            staged = life.staged
            assert staged is not None
            expected_of = (life.requested.publication_id, staged.artifact_id, event.stimulus_id, event.data)
            if told is None or expected_of != (told.publication_id, told.artifact_id, told.stimulus_id, told.data):
                raise Violation("start-unpromised", f"expected a start of {start} beside {fact}, found {told}")

    def owing(self) -> list[str]:
        """Publications that have not come to their end or to their service."""
        waiting = {"requested", "staged"}
        found = [f"unpublish {key} is not served" for key, emptying in self.emptyings.items() if not emptying.served]
        return found + [
            f"publication {key} is {life.status}{'' if life.served or life.status in waiting else ' and not served'}"
            for key, life in self.lives.items()
            if life.status in waiting or (life.activated is not None and not life.served)
        ]


def publication_of(shell: str, command_id: str) -> str:
    """The publication that a command makes: written down anew, since it never changes."""
    return sharding.digest("publication", shell, command_id)
