"""What becomes of a publish that is wrong, or that needs what others have: it fails, and says why as data."""

import copy
import json

import pytest

from interlock.domain.publishing.decide import publication_id
from interlock.domain.publishing.publication.events import REASON_CHARACTERS_MAX
from interlock.domain.refusal import FAULT_CHARACTERS_MAX, FAULTS_MAX
from interlock.domain.sharding import slot_id
from tests.support.publishing import SHELL, Desk, document, kinds, publish, triggered_by

GATE = ("gate:north",)


def identity(command_id: str) -> str:
    return publication_id(SHELL, command_id)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"triggers": []}', '{"name": " "}', '{"name": "a", "name": "b"}'])
def test_a_document_of_which_nobody_can_say_whose_it_is_is_refused_and_leaves_no_trace(text: str) -> None:
    """Proves: PUB-13"""
    desk = Desk()
    desk.asked(publish(text=text)).then_refused("invalid")
    assert desk.shard == Desk().shard


def test_a_document_that_does_not_compile_is_recorded_as_failed_and_the_authority_stays() -> None:
    """Proves: PUB-05, PUB-13"""
    desk = Desk()
    serving = desk.activate("c1")
    before = (desk.slot(), serving, copy.deepcopy(desk.shard.ledger(SHELL)))
    decided = desk.ask(publish("c2", document(on=("nobody:knows", "nothing:either"))))
    assert kinds(decided) == ["PublicationRequested", "PublicationFailed"]
    assert (desk.slot(), desk.publication("c1"), desk.shard.ledger(SHELL)) == before
    failure = desk.publication("c2").failure
    assert failure is not None
    assert (desk.publication("c2").status, failure.kind) == ("failed", "invalid")
    assert [(fault.code, fault.where) for fault in failure.faults] == [
        ("provider", "triggers[0]"),
        ("provider", "triggers[1]"),
    ]
    ((status, body),) = desk.replies("c2")
    assert (status, body["kind"], body["details"]["publicationId"]) == ("failed", "invalid", identity("c2"))
    assert body["faults"][0] == {
        "code": "provider",
        "where": "triggers[0]",
        "expected": "exactly one provider that describes it",
        "found": "none for type 'nobody' among: cron, event, gate, http, timer",
    }


def test_what_is_wrong_is_told_in_bounded_texts_however_much_it_is() -> None:
    """Proves: PUB-13"""
    desk = Desk()
    text = json.dumps({"name": "orders", **{f"unknown-{number}" + "ü" * 350: 1 for number in range(100)}})
    desk.ask(publish("c1", text))
    failure = desk.publication("c1").failure
    assert failure is not None
    assert len(failure.reason) <= REASON_CHARACTERS_MAX
    assert len(failure.faults) == FAULTS_MAX
    for fault in failure.faults:
        for said in (fault.where, fault.expected, fault.found):
            assert len(said) <= FAULT_CHARACTERS_MAX
            said.encode("utf-8")


def test_an_exclusive_claim_that_another_definition_has_fails_the_publish_naming_the_claimant() -> None:
    desk = Desk()
    desk.activate("c1", document("keeper", on=GATE), slot="blue")
    assert kinds(desk.ask(publish("c2", document("rival", on=GATE)))) == ["PublicationRequested", "PublicationFailed"]
    ((status, body),) = desk.replies("c2")
    assert (status, body["kind"]) == ("failed", "conflict")
    assert all(word in body["message"] for word in ("'gate:north'", "'keeper'", "'blue'", identity("c1")))
    assert body["conflicts"] == [
        {
            "claim": "gate:north",
            "nodeId": "gate:north",
            "definitionId": "keeper",
            "slotId": slot_id(SHELL, "keeper", "blue"),
            "slotName": "blue",
            "publicationId": identity("c1"),
            "claimantNodeId": "gate:north",
            "cardinality": "exclusive",
        }
    ]


def test_a_conflict_says_what_was_written_and_what_can_be_done_about_it() -> None:
    """Proves: PUB-09"""
    desk = Desk()
    keeper = {"type": "http", "method": "PUT", "path": "/orders/:id"}
    desk.activate("c1", triggered_by(keeper, name="keeper"), slot="blue")
    rival = triggered_by({**keeper, "path": "/orders/:x"}, name="rival")
    desk.ask(publish("c2", rival))
    ((_, told),) = desk.replies("c2")
    assert "'http:PUT /orders/:' (PUT /orders/:x) is claimed by definition 'keeper'" in told["message"]
    assert told["message"].endswith("(`interlock unpublish keeper --slot blue`), or change the trigger.")
    desk.ask(publish("c3", triggered_by(keeper, name="keeper"), slot="green"))
    ((_, own),) = desk.replies("c3")
    assert "publish with --slot blue, or change the trigger" in own["message"]
