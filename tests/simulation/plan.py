"""What will happen in a simulated run, drawn from a seed before it begins: a list of items, each with its time.

    seed, steps ─► Plan(items) ─► run.py executes it ─► shrink.py tries the same plan with fewer items

Always true: an item says all that it does, or has a seed of its own for what is drawn when it happens. So leaving one
out changes nothing about the others, which is what makes a run that fails shrinkable.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from tests.simulation.items import (
    EXPECTED,
    HOLDER,
    SHARDS,
    TEAMS,
    VIEWS,
    WORKERS,
    AnotherItem,
    BatchFault,
    CancelItem,
    Expected,
    FollowItem,
    Item,
    MalformedItem,
    Named,
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
from tests.simulation.misfortunes import Misfortunes
from tests.simulation.workflows import DEFINITIONS, MALFORMED, Cadence, Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run, before it begins."""

    seed: int
    steps: int
    """How many things users do, roughly; the length of the run follows from it."""
    cadence: Cadence
    """The host's."""
    items: tuple[Item, ...]
    """In the order of their times."""
    kept: tuple[int, ...] | None = None
    """Where it was shrunk: which items of the whole plan are left."""

    def only(self, kept: Sequence[int]) -> "Plan":
        """The same with some of the items, by their places in it; they keep the numbers that they have in the whole."""
        numbers = range(len(self.items)) if self.kept is None else self.kept
        return replace(
            self, items=tuple(self.items[place] for place in kept), kept=tuple(numbers[place] for place in kept)
        )

    @property
    def ends_s(self) -> float:
        """When its last item happens."""
        return max((item.at_s for item in self.items), default=0.0)


STEPS: Final = 80
"""What makes a run of the usual length: some 450 commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lean:
    """What plans have more of than usual, for who looks for something rare; drawn as everything else is."""

    doubts: int = 0
    """Batches to inboxes of which nobody knows whether they landed."""
    owners: int = 0
    """Times at which shards change hands, half of them by a crash."""
    publishes: int = 0
    slots: int = 0
    """Times at which a slot is emptied, or gets back what it selected before."""
    handovers: int = 0
    """Times at which one slot gives up what only one can have, another one takes it, and the first wants it back."""
    cancels: int = 0
    """Runs that are asked to end, and inboxes that are slow meanwhile."""
    upkeep: int = 0
    """Rebuilds, and passes that compare rows with the slots."""
    repeats: int = 0
    """Commands that are sent again after they were answered."""
    lags: int = 0
    """Times at which one process hears late of what publishing decides."""
    jumps: int = 0
    """Clocks that go wrong by minutes or days."""
    preflights: int = 0
    disks: int = 0
    trials: int = 0
    """Test runs, each with another one from the same reference."""
    others: int = 0
    """Commands under ids that were given to other ones."""
    tampering: int = 0
    owned: int = 0
    """Slots that come to be somebody's, and what others then try with them."""


USUAL: Final = Lean()


def draw(seed: int, steps: int, lean: Lean = USUAL) -> Plan:
    """The plan of a seed."""
    chance = random.Random(seed)
    cadence: Cadence = "coalesced" if chance.random() < 0.5 else "immediate"
    artist = _Artist(chance, steps)
    items = [*artist.publishes(), *artist.stories(), *artist.errands(), *artist.faults(), *artist.leaning(lean)]
    # Drawn from a chance of their own, so that what was drawn before there were such items is as it was.
    items += _Artist(random.Random(f"{seed} later"), steps).later(lean)
    items += _Artist(random.Random(f"{seed} trials"), steps).trials(lean)
    items += _Artist(random.Random(f"{seed} tampering"), steps).tampering(1 + lean.tampering)
    return Plan(seed=seed, steps=steps, cadence=cadence, items=tuple(sorted(items, key=lambda item: item.at_s)))


class _Artist(Misfortunes):
    """Draws the items of one plan; the order of the draws is part of what a seed means."""

    # ---- publishing ---------------------------------------------------------------------------------------------

    def publishes(self) -> list[Item]:
        """Each definition once at the beginning, and more as the run goes on."""
        first = [self._first(round(0.2 * index, 3), index) for index in range(len(DEFINITIONS))]
        more = [self._publish(self._at(0.1), self._chance.randrange(len(DEFINITIONS)), None) for _ in range(self._more)]
        slots = [self._slot(index) for index in range(1 + self._steps // 40)]
        return [*first, *more, *slots, *self._handover(10)]

    def _first(self, at_s: float, definition: int) -> PublishItem:
        """Who claims something for itself has a rival from the first."""
        item = self._publish(at_s, definition, None)
        return replace(item, rivals=2, apart=True) if DEFINITIONS[definition].route else item

    def _slot(self, index: int) -> SlotItem:
        chance = self._chance
        return SlotItem(
            at_s=self._at(0.2),
            seed=self._seed(),
            command_id=f"slot-{index}",
            definition=chance.randrange(len(DEFINITIONS)),
            slot=chance.choice((None, "second")),
            restores=chance.random() < 0.5,
            expects=chance.choices(EXPECTED, (6, 4, 1, 1))[0],
        )

    def _handover(self, number: int) -> list[Item]:
        """One slot gives up what only one can have, another one takes it, and the first one wants it back."""
        chance = self._chance
        claiming = chance.choice([at for at, one in enumerate(DEFINITIONS) if one.route])
        gives, takes = chance.sample((None, "second"), 2)
        given, wanted = (
            replace(self._slot(number + index), definition=claiming, slot=gives, restores=index == 1, expects="nothing")
            for index in range(2)
        )
        given = replace(given, at_s=self._at(0.1, 0.6))
        taken_s = round(given.at_s + chance.uniform(0.0, 3.0), 3)
        taken = replace(self._publish(taken_s, claiming, takes), slot=takes, expects="nothing", rivals=1, broken=False)
        return [given, taken, replace(wanted, at_s=round(taken_s + chance.uniform(0.0, 5.0), 3))]

    @property
    def _more(self) -> int:
        return 2 + self._steps // 20

    def _publish(self, at_s: float, definition: int, slot: str | None) -> PublishItem:
        chance = self._chance
        late = at_s > 2.0
        self._versions += 1
        expects: Expected = chance.choices(EXPECTED, (6, 4, 1, 1))[0] if late else "nothing"
        return PublishItem(
            at_s=at_s,
            seed=self._seed(),
            command_id=f"publish-{self._versions}",
            definition=definition,
            version=self._versions if chance.random() < 0.8 else max(1, self._versions - 2),
            cadence=chance.choice((None, None, "immediate", "coalesced")),
            slot=slot if not late or chance.random() < 0.7 else "second",
            rivals=chance.choice((2, 3)) if expects == "seen" and chance.random() < 0.6 else 1,
            expects=expects,
            broken=late and chance.random() < 0.07,
            patient=not late or chance.random() < 0.8,
        )

    # ---- stimuli ------------------------------------------------------------------------------------------------

    def stories(self) -> list[Item]:
        """What starts runs, and what they wait for: in time, before it, too late, twice or never."""
        items: list[Item] = []
        while len(items) < self._steps:
            items += self._story(self._chance.choices(DEFINITIONS, (6, 1, 2, 2, 2, 1))[0])
        return items

    def _story(self, definition: Definition) -> list[Item]:
        chance = self._chance
        self._number += 1
        number, at_s = self._number, self._at(0.02)
        items: list[Item] = [self._stimulus(definition.event, number, at_s, keyed=chance.random() < 0.9)]
        if definition.waits_for and chance.random() < 0.9:
            gap_s = chance.choice((-3.0, 0.0, 0.01, 1.0, 8.0, 40.0)) + chance.uniform(0.0, 2.0)
            correlation = f"k{number}" if definition.correlated else None
            met_at_s = max(0.0, round(at_s + gap_s, 3))
            items.append(self._stimulus(definition.waits_for, number, met_at_s, correlation=correlation))
            if chance.random() < 0.1:
                again_s = round(met_at_s + chance.uniform(0.0, 10.0), 3)
                items.append(self._stimulus(definition.waits_for, number, again_s, correlation=correlation))
        return items

    def _stimulus(
        self, name: str, number: int, at_s: float, *, keyed: bool = True, correlation: str | None = None
    ) -> StimulusItem:
        chance = self._chance
        return StimulusItem(
            at_s=at_s,
            seed=self._seed(),
            name=name,
            number=number,
            key=f"{name}-{number}" if keyed else None,
            correlation=correlation,
            ttl=chance.choice((None, "5s", "1h", "1h")),
            deliver=chance.choice((None, "all", "one")),
            copies=1 if chance.random() < 0.85 else chance.choice((2, 3)),
            by_log=chance.random() < 0.7,
        )

    # ---- the rest of what users do ------------------------------------------------------------------------------

    def errands(self) -> list[Item]:
        """Cancels, records that nobody can read, preflights, rebuilds, readers."""
        chance, some = self._chance, 1 + self._steps // 25
        items: list[Item] = [self._cancel(index) for index in range(some)]
        items += [
            MalformedItem(at_s=self._at(), seed=self._seed(), value=chance.choice(MALFORMED)) for _ in range(some)
        ]
        items += [self._preflight() for _ in range(2)]
        items += [RepeatItem(at_s=self._at(0.2), seed=self._seed()) for _ in range(some)]
        items += [*(self._compares() for _ in range(some)), self._rebuilds()]
        items += [
            FollowItem(
                at_s=self._at(0.05, 0.9),
                seed=self._seed(),
                context=chance.choice(("routing", "executions")),
                partition=chance.randrange(SHARDS),
            )
            for _ in range(2)
        ]
        return items

    def _preflight(self) -> PreflightItem:
        chance = self._chance
        return PreflightItem(
            at_s=self._at(0.1),
            seed=self._seed(),
            definition=chance.randrange(len(DEFINITIONS)),
            version=chance.randint(1, self._versions),
            slot=chance.choice((None, "second")),
        )

    def _cancel(self, index: int) -> CancelItem:
        chance = self._chance
        return CancelItem(
            at_s=self._at(0.1),
            seed=self._seed(),
            command_id=f"cancel-{index}",
            unknown=chance.random() < 0.15,
            patient=chance.random() < 0.8,
        )

    def _rebuilds(self) -> RebuildItem:
        return RebuildItem(at_s=self._at(0.3), seed=self._seed(), view=self._chance.choice(VIEWS))

    def _compares(self) -> ReconcileItem:
        return ReconcileItem(
            at_s=self._at(0.05), seed=self._seed(), process=self._chance.choice((*WORKERS, HOLDER, HOLDER))
        )

    def later(self, lean: Lean) -> list[Item]:
        """What came to plans later."""
        items: list[Item] = [self._jump() for _ in range(1 + lean.jumps)]
        items.append(VerifyItem(at_s=self._at(0.2), seed=self._seed(), view=self._chance.choice(VIEWS)))
        items += [item for number in range(1 + lean.owned) for item in self._owned(number)]
        for _ in range(2 + self._steps // 25 + lean.preflights):
            expects, owner = self._chance.choices(EXPECTED, (6, 4, 2, 1))[0], self._chance.choice((*TEAMS, "", ""))
            items.append(replace(self._preflight(), expects=expects, owner=owner))
        items += [self._full(HOLDER) for _ in range(1 + lean.disks)]
        items.append(self._full(self._chance.choice(WORKERS)))
        return [*items, self._slow(HOLDER), self._slow(self._chance.choice(WORKERS))]

    def _owned(self, number: int) -> list[Item]:
        """A slot comes to be somebody's, seldom the one that most publish to; then its owner, others and nobody in
        particular try to change it."""
        chance = self._chance
        definition, slot = self._definition(), chance.choice(("second", "second", "second", None))
        at_s, items = self._at(0.1, 0.8), list[Item]()
        for index in range(4):
            owner = TEAMS[0] if not index else chance.choice((*TEAMS, *TEAMS, ""))
            # Nobody takes a slot over without saying whose it is then.
            take_over = bool(index and owner) and chance.random() < 0.3
            if index and chance.random() < 0.4:
                slotted = self._slot(300 + 10 * number + index)
                items.append(
                    replace(slotted, at_s=at_s, definition=definition, slot=slot, owner=owner, take_over=take_over)
                )
            else:
                publish = replace(self._publish(at_s, definition, slot), slot=slot, owner=owner, take_over=take_over)
                items.append(replace(publish, command_id=f"publish-owned-{number}-{index}", broken=False))
            at_s = round(at_s + chance.choice((0.0, 0.5, 4.0)) * chance.random(), 3)
        return items

    def leaning(self, lean: Lean) -> list[Item]:
        """What there is more of; drawn last, so that the rest of a plan is as usual."""
        chance = self._chance
        kinds: tuple[BatchFault, ...] = ("lost ack", "late landing", "never lands")
        items: list[Item] = [self._batch(chance.choice(kinds), "inbox") for _ in range(lean.doubts)]
        items += [self._crash() if index % 2 else self._move() for index in range(lean.owners)]
        items += [self._publish(self._at(0.1), self._definition(), None) for _ in range(lean.publishes)]
        items += [self._slot(100 + index) for index in range(lean.slots)]
        items += [RepeatItem(at_s=self._at(0.2), seed=self._seed()) for _ in range(lean.repeats)]
        items += [self._compares() if index % 2 else self._rebuilds() for index in range(lean.upkeep)]
        items += [item for number in range(lean.handovers) for item in self._handover(200 + 2 * number)]
        items += [self._lag() for _ in range(lean.lags)]
        items += [self._cancel(100 + index) for index in range(lean.cancels)]
        items += [self._reorder() for _ in range(lean.cancels // 4)]
        return items

    def trials(self, lean: Lean) -> list[Item]:
        """Test runs, other commands under ids that are used, and who looks ahead at more than publishes."""
        chance = self._chance
        self._versions = len(DEFINITIONS) + self._more
        items: list[Item] = [item for number in range(1 + lean.trials) for item in self._trial(number)]
        items += [self._another() for _ in range(2 + lean.others)]
        for _ in range(2 + lean.preflights):
            ahead = replace(
                self._preflight(),
                of=chance.choice(("restore", "restore", "unpublish")),
                expects=chance.choices(EXPECTED, (6, 4, 2, 1))[0],
                owner=chance.choice((*TEAMS, "", "")),
                take_over=chance.random() < 0.2,
            )
            names: Named = chance.choices(get_args(Named), (5, 4, 1))[0]
            items.append(replace(ahead, names=names, seasoned=chance.random() < 0.8))
        return items

    def _trial(self, number: int) -> list[Item]:
        """A test run of a document or a version, another one by its reference, in time or too late, and a stimulus for
        either; they wait for what others wait for as well."""
        chance = self._chance
        at_s, definition = self._at(0.05, 0.8), self._definition()
        first = TrialItem(
            at_s=at_s,
            seed=self._seed(),
            command_id=f"trial-{number}",
            definition=definition,
            number=chance.randint(1, 1 + self._steps // 4),
            draft=chance.randint(1, self._versions) if chance.random() < 0.6 else 0,
            patient=chance.random() < 0.8,
        )
        again = replace(
            first,
            at_s=round(at_s + chance.choice((0.0, 3.0, 18.0, 22.0)) + chance.uniform(0.0, 3.0), 3),
            seed=self._seed(),
            command_id=f"trial-{number}-again",
            draft=0,
            reference=f"trial-{number}" if chance.random() < 0.9 else "nobody's",
        )
        items: list[Item] = [first, again]
        if event := DEFINITIONS[definition].waits_for:
            met, correlated = chance.choice((first, again)), DEFINITIONS[definition].correlated
            at_s = round(met.at_s + chance.uniform(0.0, 10.0), 3)
            stimulus = self._stimulus(event, met.number, at_s, correlation=f"k{met.number}" if correlated else None)
            items.append(replace(stimulus, key=f"for {met.command_id}", trial=met.command_id))
        return items

    def _another(self) -> AnotherItem:
        chance = self._chance
        return AnotherItem(
            at_s=self._at(0.1),
            seed=self._seed(),
            verb=chance.choice(("publish", "publish", "restore", "unpublish", "trial")),
            definition=self._definition(),
            version=chance.randint(1, self._versions),
            slot=chance.choice((None, "second")),
            of_last=chance.random() < 0.5,
            again=chance.random() < 0.5,
            patient=chance.random() < 0.8,
        )

    def _definition(self) -> int:
        return self._chance.randrange(len(DEFINITIONS))
