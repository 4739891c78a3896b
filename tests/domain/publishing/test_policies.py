"""Who decides on the slot: the request's own word, then the document, then the host. Nobody makes a name up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable
from interlock.domain.publishing.policy import Choice, HostPolicy, WorkflowPolicy, choose
from interlock.domain.publishing.preflight import Preflight, preflight
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.refusal import Refusal
from tests.support.publishing import WITH_GATES, Desk, document, publish, restore, unpublish, wish

NAMES = st.sampled_from(["default", "blue", "green"])


def demanding(**publish_part: object) -> str:
    """A document that demands something of publishing."""
    return json.dumps({**json.loads(document()), "publish": publish_part})


@given(st.none() | NAMES, st.just("") | NAMES, st.booleans(), st.sampled_from(["default", "explicit"]))
def test_a_slot_is_named_by_the_request_the_document_or_the_host_in_this_order(
    slot: str | None, workflow_slot: str, explicit: bool, host: HostPolicy
) -> None:
    """Proves: PUB-07, PUB-08"""
    found = choose("orders", slot, WorkflowPolicy(slot=workflow_slot, explicit=explicit), host)
    if slot is not None:
        assert found == Choice(slot_name=slot, source="request")
    elif explicit:
        assert isinstance(found, Refusal)
        assert dict(found.details)["policySource"] == "workflow"
    elif workflow_slot:
        assert found == Choice(slot_name=workflow_slot, source="workflow")
    elif host == "explicit":
        assert isinstance(found, Refusal)
        assert dict(found.details)["policySource"] == "host"
    else:
        assert found == Choice(slot_name="default", source="host")


def test_a_document_may_send_ordinary_publishes_to_a_slot_of_its_own() -> None:
    """Proves: PUB-06, PUB-08"""
    desk = Desk(host_policy="explicit")
    text = demanding(slot="blue")
    for command in ("c1", "c2"):
        assert desk.activate(command, text).slot_name == "blue"
    assert [slot.name for slot in desk.shard.slots.values()] == ["blue"]
    assert desk.activate("c3", text, slot="green").slot_name == "green"


def test_a_document_that_demands_a_slot_refuses_an_ordinary_publish_and_says_how_to_name_one() -> None:
    """Proves: PUB-08"""
    desk = Desk()
    text = demanding(explicit=True)
    outcome = desk.asked(publish("c1", text))
    outcome.then_refused("invalid", "'orders'", "--slot")
    assert desk.shard == Desk().shard
    assert desk.activate("c1", text, slot="blue").status == "active"


def test_a_host_that_demands_a_slot_refuses_an_ordinary_publish() -> None:
    """Proves: PUB-08"""
    desk = Desk(host_policy="explicit")
    desk.asked(publish()).then_refused("invalid", "host", "--slot")


def test_a_document_that_is_wrong_is_recorded_where_its_policy_sends_it() -> None:
    """Proves: PUB-08, PUB-13"""
    desk = Desk()
    wrong = json.dumps({**json.loads(demanding(slot="blue")), "steps": []})
    desk.ask(publish("c1", wrong))
    assert (desk.publication("c1").slot_name, desk.publication("c1").status) == ("blue", "failed")


@pytest.mark.parametrize("part", [{"slot": "blue", "explicit": True}, {"slot": " "}, {"other": 1}, [], "blue"])
def test_a_demand_that_makes_no_sense_fails_the_publish(part: object) -> None:
    desk = Desk()
    desk.ask(publish("c1", json.dumps({**json.loads(document()), "publish": part})))
    failure = desk.publication("c1").failure
    assert failure is not None
    assert failure.faults[0].where.startswith("publish")


def test_what_a_document_demands_of_publishing_is_no_part_of_what_runs() -> None:
    """Proves: PUB-04"""
    plain, demands = compile_document(document()), compile_document(demanding(slot="blue"))
    assert isinstance(plain, Executable)
    assert plain == demands


def test_a_preflight_names_who_decided_and_what_stays_beside_it() -> None:
    """Proves: PUB-08, PUB-09"""
    desk = Desk()
    desk.activate("c1")

    def look(text: str, slot: str | None = None) -> Preflight:
        found = preflight(desk.shard, wish(slot), text, providers=WITH_GATES, now_ms=desk.now_ms)
        assert isinstance(found, Preflight)
        return found

    assert (look(document()).policy_source, look(document()).slot_name, look(document()).beside) == (
        "host",
        "default",
        (),
    )
    sent = look(demanding(slot="blue"))
    assert (sent.policy_source, sent.slot_name, sent.beside) == ("workflow", "blue", ("default",))
    asked = look(demanding(slot="blue"), "green")
    assert (asked.policy_source, asked.slot_name) == ("request", "green")


def test_unpublish_and_restore_go_where_an_ordinary_publish_of_what_is_there_would_go() -> None:
    """Proves: PUB-08, PUB-14"""
    desk = Desk()
    for command, pause in (("c1", "1h"), ("c2", "2h")):
        text = json.dumps({**json.loads(document(pause=pause)), "publish": {"slot": "blue"}})
        desk.activate(command, text)
    desk.ask(restore("r1"))
    assert (desk.prepare("r1").slot_name, desk.slot(name="blue").revision) == ("blue", 3)
    desk.ask(unpublish("u1"))
    assert desk.slot(name="blue").publication_id == ""


def test_a_restore_checks_the_policy_again() -> None:
    """Proves: PUB-14"""
    desk = Desk()
    desk.activate("c1")
    desk.activate("c2")
    desk.host_policy = "explicit"
    messages: tuple[PublicationCommand, ...] = (restore("r1"), restore("r1", "c1"), unpublish("u1"))
    for message in messages:
        desk.asked(message).then_refused("invalid", "host", "--slot")
    desk.ask(restore("r1", slot="default"))
    assert desk.prepare("r1").status == "active"
