"""C1: the routes are those of the slot's publication, in whatever order the changes of one publish are told."""

from dataclasses import replace
from itertools import permutations

import pytest

from interlock.domain.decider import Change
from interlock.domain.publishing.authority import Authority
from interlock.domain.publishing.publication.events import (
    BindingRoute,
    PublicationStaged,
)
from interlock.projections.rows import MemoryRows
from interlock.projections.trigger_index.fold import VIEW, fold
from interlock.projections.trigger_index.offers import ROUTES
from interlock.projections.trigger_index.store import BINDINGS
from tests.projections.journals import recorded
from tests.projections.stories import PLACED, SHELL, activation, candidate, prepared

pytestmark = pytest.mark.cases


def routed(publication_id: str, *, revision: int = 0) -> list[Change]:
    """A candidate with an endpoint."""
    route = BindingRoute(method="POST", template="/orders")
    found: list[Change] = []
    for change in candidate(publication_id, revision=revision):
        event = change.event
        if isinstance(event, PublicationStaged):
            event = replace(event, bindings=tuple(replace(each, route=route) for each in event.bindings))
        found.append(Change(change.stream, event))
    return found


BEFORE = [*routed("p1"), *prepared("p1"), *activation("p1", revision=1), *routed("p2", revision=1), *prepared("p2")]
SWITCH = activation("p2", revision=2, replaces="p1")
"""Four events: the slot moves, the claims change, the new one is activated, the old one retired."""


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_the_route_table_is_what_the_slot_says_whatever_is_told_first(order: tuple[int, ...]) -> None:
    """Proves: PUB-03, PRJ-04, RTE-01 (the table)."""
    assert len(SWITCH) == 4
    rows, authority = MemoryRows(), Authority()
    for each in recorded(*BEFORE, *(SWITCH[index] for index in order)):
        fold(each, rows)
        authority.apply(each.stream, each.event)
    assert [(row.publication_id, row.state) for row in rows.all(ROUTES)] == [("p2", "active")]
    assert [(row.publication_id, row.state) for row in rows.all(BINDINGS)] == [("p2", "active")]
    assert [each.publication_id for each in authority.bindings(SHELL, PLACED)] == ["p2"]


def test_what_is_told_of_an_older_revision_again_changes_no_authority() -> None:
    """A replica that is told of a slot's past, once more and behind its present, stays at the present."""
    authority = Authority()
    for each in recorded(*BEFORE, *SWITCH):
        authority.apply(each.stream, each.event)
    for change in (*activation("p1", revision=1), *SWITCH):
        authority.apply(change.stream, change.event)
    assert [each.publication_id for each in authority.bindings(SHELL, PLACED)] == ["p2"]


def test_both_orders_leave_the_same_rows() -> None:
    """Proves: PRJ-06."""
    digests: set[str] = set()
    for order in permutations(SWITCH):
        rows = MemoryRows()
        for each in recorded(*BEFORE, *order):
            fold(each, rows)
        digests.add(rows.digest(VIEW.tables))
    assert len(digests) == 1
