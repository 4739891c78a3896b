"""Whose a slot is: an owner is respected unless somebody takes over, and a refusal names them."""

import pytest

from interlock.domain.messages import Owner
from interlock.domain.publishing.publication.events import PublicationRequested
from interlock.domain.refusal import Refusal
from tests.support.publishing import Desk, document, publish, restore, unpublish

PAYMENTS = Owner(kind="team", id="payments")
CI = Owner(kind="service", id="ci")


def owned() -> Desk:
    """A slot of the payments team that has had two publications."""
    desk = Desk()
    desk.activate("c1", owner=PAYMENTS)
    desk.activate("c2", document(pause="2h"), owner=PAYMENTS)
    return desk


def test_a_slot_is_whose_who_said_so_when_it_was_activated() -> None:
    """Proves: PUB-19"""
    desk = Desk()
    desk.activate("c1")
    assert desk.slot().owner is None
    desk.ask(publish("c2", owner=PAYMENTS))
    assert desk.slot().owner is None
    desk.prepare("c2")
    assert desk.slot().owner == PAYMENTS


@pytest.mark.parametrize("owner", [None, CI])
def test_whoever_is_not_the_owner_is_refused_and_told_who_is(owner: Owner | None) -> None:
    """Proves: PUB-19"""
    for message in (publish("x", owner=owner), restore("x", owner=owner), unpublish("x", owner=owner)):
        refusal = owned().asked(message).then_refused("conflict", "team 'payments'", "--take-over")
        details = dict(refusal.details)
        assert (details["ownerKind"], details["ownerId"], details["slot"]) == ("team", "payments", "default")


def test_the_owner_goes_on_publishing_restoring_and_unpublishing() -> None:
    """Proves: PUB-19"""
    desk = owned()
    desk.ask(restore("r1", owner=PAYMENTS))
    assert desk.prepare("r1").status == "active"
    desk.ask(unpublish("u1", owner=PAYMENTS))
    assert (desk.slot().publication_id, desk.slot().owner) == ("", PAYMENTS)
    desk.asked(publish("c3")).then_refused("conflict")
    assert desk.activate("c4", owner=PAYMENTS).status == "active"


def test_who_takes_over_is_the_owner_from_then_on_and_it_is_recorded() -> None:
    """Proves: PUB-19"""
    desk = owned()
    desk.ask(publish("c3", owner=CI, take_over=True))
    assert desk.slot().owner == PAYMENTS
    desk.prepare("c3")
    assert desk.slot().owner == CI
    requested = [change.event for change in desk.changes if isinstance(change.event, PublicationRequested)][-1]
    assert (requested.owner, requested.took_over) == (CI, True)


def test_whoever_takes_over_says_who_owns_it_then_and_an_owner_is_never_removed_by_naming_nobody() -> None:
    """Proves: PUB-19"""
    for message in (publish("x", take_over=True), restore("x", take_over=True), unpublish("x", take_over=True)):
        owned().asked(message).then_refused("invalid", "add --owner KIND:ID", "it is team 'payments' now")
    Desk().asked(publish("x", take_over=True)).then_refused("invalid", "add --owner KIND:ID")


def test_a_take_over_that_loses_the_slot_takes_nothing_over() -> None:
    """Proves: PUB-11, PUB-19"""
    desk = owned()
    desk.ask(publish("rival", owner=CI, take_over=True))
    desk.activate("c3", owner=PAYMENTS)
    assert desk.prepare("rival").status == "superseded"
    assert desk.slot().owner == PAYMENTS


@pytest.mark.parametrize("owner", [Owner(kind="", id="a"), Owner(kind="team", id=" "), Owner(kind="a\x00", id="b")])
def test_an_owner_needs_a_kind_and_an_id(owner: Owner) -> None:
    outcome = Desk().asked(publish("c1", owner=owner))
    assert isinstance(outcome.then_refused("invalid", "owner"), Refusal)
