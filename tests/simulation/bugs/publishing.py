"""Bugs of publishing: who gets authority, and when that is answered."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from interlock.domain.messages import Owner, RoutingReached
from interlock.domain.publishing import activation, candidate, earlier, preflight, request
from interlock.domain.publishing import decide as publishing_decide
from interlock.domain.publishing.candidate import Target, Wish
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.claims.state import Conflict, Ledger, conflicts
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.slot.state import Slot
from interlock.domain.publishing.story import Story
from interlock.domain.publishing.unpublish import decide as unpublish_decide
from interlock.domain.refusal import Refusal
from tests.simulation.bugs import Catalogue, Swaps
from tests.simulation.plan import Lean

publishing = Catalogue()


@publishing.bug()
def the_compare_and_swap_is_skipped() -> Swaps:
    """Of concurrent publishes that have observed one revision, all get the slot, one after the other. The mistake: to
    have compared the revision when the candidate was staged."""
    original = activation.select

    def select(here: Here, candidate: Publication, story: Story) -> None:
        found = here.shard.slot(candidate.slot_id).revision
        original(here, replace(candidate, expected_revision=found), story)

    return [(publishing_decide, "select", select), (request, "select", select)]


@publishing.bug()
def active_is_answered_by_the_first_shard() -> Swaps:
    """A caller hears "active" while other routing shards still start the old one. The mistake: to take the first
    acknowledgement for all of them."""
    original: Any = publishing_decide._activation_reached  # pyright: ignore[reportPrivateUsage]

    def reached(here: Here, publication: Publication, message: RoutingReached, story: Story) -> bool:
        one_more = replace(publication, routing_shards=max(len(publication.reached) + 1, message.partition + 1))
        return bool(original(here, one_more if not publication.reached else publication, message, story))

    return [(publishing_decide, "_activation_reached", reached)]


@publishing.bug(lean=Lean(slots=6))
def an_unpublish_does_not_raise_the_revision() -> Swaps:
    """Whoever has seen the slot before it was emptied fills it again without noticing. The mistake: to count
    activations instead of changes."""
    original = activation.empty

    def empty(here: Here, slot: Slot, unpublish_id: str, owner: Owner | None, story: Story) -> int:
        return original(here, replace(slot, revision=slot.revision - 1), unpublish_id, owner, story)

    return [(unpublish_decide, "empty", empty)]


@publishing.bug(lean=Lean(slots=24, publishes=8))
def an_unpublish_looks_at_no_revision() -> Swaps:
    """An unpublish empties a slot that somebody has filled since its caller looked. The mistake: to think that there
    is nothing to lose."""
    return [(Target, "lost", False)]


@publishing.bug()
def claims_are_not_compared_again_in_the_activation() -> Swaps:
    """Two candidates that were staged side by side both get what only one can have. The mistake: to trust the look at
    the ledger that the request began with."""
    return [(activation, "conflicts", _none)]


@publishing.bug(lean=Lean(handovers=5))
def a_restore_skips_the_conflict_check() -> Swaps:
    """A publication that had authority before gets it back although another slot has its claims by now. The mistake:
    to take it for checked. (Where only the request doesn't look, the activation still refuses it.)"""
    original = activation.select

    def select(here: Here, candidate: Publication, story: Story) -> None:
        if not candidate.restores:
            original(here, candidate, story)
            return
        with patch.object(activation, "conflicts", _none):
            original(here, candidate, story)

    return [(publishing_decide, "select", select), (request, "select", select), (request, "conflicts", _none)]


@publishing.bug()
def a_source_reference_outlives_its_publication() -> Swaps:
    """The artifact of a publication that was replaced is kept for ever. The mistake: to release it later, in an append
    of its own."""

    def stop_referring(here: Here, publication_id: str, story: Story) -> None:
        """Later, perhaps."""

    return [(activation, "_stop_referring", stop_referring)]


@publishing.bug(lean=Lean(owned=6))
def the_owner_of_a_slot_is_not_looked_at() -> Swaps:
    """Whoever comes next has a slot that is somebody's, and it is theirs then. The mistake: to keep whose a slot is for
    those who look at it, and to forget those who don't."""

    def owner_after(slot: Slot, name: str, definition_id: str, owner: Owner | None, take_over: bool) -> Owner | None:
        return owner

    return [(candidate, "owner_after", owner_after)]


@publishing.bug(lean=Lean(preflights=30))
def a_preflight_conflicts_with_its_own_slot() -> Swaps:
    """Who looks ahead at a new version of what is there is told that the present one stands against it. The mistake: to
    compare with everybody who has a claim."""
    original = conflicts

    def with_all(ledger: Ledger, slot_id: str, claims: Iterable[Claim]) -> tuple[Conflict, ...]:
        return original(ledger, "", claims)

    return _looking_ahead(with_all)


@publishing.bug(lean=Lean(preflights=30))
def a_preflight_sees_no_conflict() -> Swaps:
    """Who looks ahead is told that the slot would be filled, and the publish fails. The mistake: to trust that the
    publish itself looks."""
    return _looking_ahead(_none)


@publishing.bug(lean=Lean(preflights=60, owned=12))
def a_preflight_of_an_unpublish_looks_at_no_owner() -> Swaps:
    """Who looks ahead is told that a slot would be emptied that is somebody else's. The mistake: to take whoever says
    who they are for who may."""
    original = candidate.aim

    def aim(shard: PublishingShard, wish: Wish, *args: Any) -> Target | Refusal:
        return original(shard, replace(wish, take_over=wish.take_over or wish.owner is not None), *args)

    return [(preflight, "aim", aim)]


@publishing.bug(lean=Lean(preflights=30, publishes=4))
def a_preflight_of_a_restore_takes_the_last_one_for_the_one_before() -> Swaps:
    """Who looks ahead is told that there is nothing to restore, since that is there. The mistake: to think of a slot
    that is empty, where the last one is the one that it had before."""
    original = earlier.earlier_one
    rightly: Callable[..., Publication | Refusal] = getattr(earlier, "_previous")  # noqa: B009 - it is not for others

    def previous(shard: PublishingShard, target: Target) -> Publication | Refusal:
        selected = shard.selected.get(target.slot_id, ())
        return shard.publications[selected[-1]] if selected else rightly(shard, target)

    def earlier_one(*args: Any) -> object:
        with patch.object(earlier, "_previous", previous):
            return original(*args)

    return [(preflight, "earlier_one", earlier_one)]


def _looking_ahead(instead: Callable[..., tuple[Conflict, ...]]) -> Swaps:
    """Other conflicts for who looks ahead, and for nobody else."""
    original: Callable[..., object] = getattr(preflight, "resolve")  # noqa: B009 - it is imported there

    def resolve(*args: object, **kwargs: object) -> object:
        with patch.object(candidate, "conflicts", instead):
            return original(*args, **kwargs)

    return [(preflight, "resolve", resolve)]


def _none(*_: object) -> tuple[()]:
    return ()
