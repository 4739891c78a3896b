"""Bugs of publishing: who gets authority, and when that is answered."""

from dataclasses import replace
from typing import Any

from interlock.domain.messages import RoutingReached
from interlock.domain.publishing import activation, request
from interlock.domain.publishing import decide as publishing_decide
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.publishing.story import Story
from tests.simulation.bugs import Catalogue, Swaps

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
