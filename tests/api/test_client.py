"""The client on a network that a test plays."""

import json
from collections.abc import Callable

import httpx
import pytest

from interlock.sdk import ApiError, BadArgument, Client, Unreachable, WireError
from interlock.sdk.client import TRIES_MAX

Play = Callable[[httpx.Request], httpx.Response]


def client(play: Play) -> Client:
    """A client that talks to `play`."""
    return Client("http://api", transport=httpx.MockTransport(play))


def answering(status: int, body: object) -> Play:
    """Answers everything alike."""
    return lambda request: httpx.Response(status, json=body)


def test_a_refusal_has_its_kind_its_sentence_and_its_details() -> None:
    problem = {"kind": "superseded", "message": "Expected revision 1, found 2.", "details": {"foundRevision": "2"}}
    with client(answering(409, problem)) as asked, pytest.raises(ApiError, match="found 2") as raised:
        asked.publish("{}")
    assert (raised.value.status, raised.value.kind) == (409, "superseded")
    assert raised.value.details == {"foundRevision": "2"}


CONFLICT = {
    "claim": "gate:north",
    "nodeId": "gate:north",
    "definitionId": "keeper",
    "slotId": "s",
    "slotName": "blue",
    "publicationId": "p",
    "claimantNodeId": "gate:north",
    "cardinality": "exclusive",
}


def test_a_refusal_has_what_is_wrong_and_who_stands_against_it_as_data() -> None:
    fault = {"code": "source", "where": "ship", "expected": "one of input", "found": "nowhere"}
    problem: dict[str, object] = {
        "kind": "conflict",
        "message": "m",
        "details": {},
        "faults": [fault],
        "conflicts": [CONFLICT],
    }
    with client(answering(409, problem)) as asked, pytest.raises(ApiError) as raised:
        asked.publish("{}")
    assert [(each.code, each.where) for each in raised.value.faults] == [("source", "ship")]
    [conflict] = raised.value.conflicts
    assert (conflict.claim, conflict.definition_id, conflict.slot_name) == ("gate:north", "keeper", "blue")
    assert (conflict.publication_id, conflict.claimant_node_id) == ("p", "gate:north")


def test_a_refusal_of_somebody_in_between_is_told_as_it_is() -> None:
    with client(answering(502, {"error": "bad gateway"})) as asked, pytest.raises(ApiError) as raised:
        asked.publish("{}")
    assert (raised.value.kind, raised.value.message, raised.value.details) == ("failed", "Bad Gateway", {})


def test_a_request_whose_connection_broke_is_sent_again_as_the_same_command() -> None:
    """Proves: LOG-06."""
    seen: list[str] = []

    def play(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content)["commandId"])
        if len(seen) < TRIES_MAX:
            raise httpx.RemoteProtocolError("the server disconnected")
        return httpx.Response(200, json={"status": "active", "commandId": seen[-1], "publicationId": "p"})

    with client(play) as asked:
        assert asked.publish("{}").status == "active"
    assert len(seen) == TRIES_MAX
    assert len(set(seen)) == 1


def test_a_stimulus_whose_connection_broke_is_sent_again_under_the_same_key() -> None:
    """Proves: STM-04."""
    keys: list[str] = []

    def play(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("reset")
        return httpx.Response(202, json={"stimulusId": "s"})

    with client(play) as asked:
        assert asked.emit("Event", "a").stimulus_id == "s"
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (httpx.ConnectError("refused"), "refused"),
        (httpx.ReadTimeout(""), "health/ready"),
        (httpx.RemoteProtocolError("gone"), "gone"),
    ],
)
def test_an_api_that_does_not_answer_is_unreachable(error: httpx.TransportError, says: str) -> None:
    def play(request: httpx.Request) -> httpx.Response:
        raise error

    with client(play) as asked, pytest.raises(Unreachable, match=says):
        asked.slots()


def test_an_answer_of_something_else_is_told() -> None:
    def play(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="<html>", headers={"content-type": "text/html"})

    with client(play) as asked, pytest.raises(WireError, match="is that address Interlock's API"):
        asked.slots()


def test_a_server_that_failed_is_told_as_one_and_not_as_a_wrong_address() -> None:
    def play(request: httpx.Request) -> httpx.Response:
        return httpx.Response(502, text="Bad upstream\nmore", headers={"content-type": "text/plain"})

    with client(play) as asked, pytest.raises(WireError) as told:
        asked.slots()
    message = str(told.value)
    assert "status 502 (Bad upstream); whether the request was done isn't known" in message
    assert "/health/live" in message
    assert "is that address" not in message


def test_a_no_of_health_is_an_answer() -> None:
    with client(answering(503, {"ok": False, "problems": ["warming up"], "roles": []})) as asked:
        assert asked.ready().problems == ("warming up",)


@pytest.mark.parametrize(
    ("aggregate", "path"),
    [
        ("execution:5f", "/v1/history/execution:5f"),
        ("orders/default", "/v1/history/orders/default"),
        ("a/b/default", "/v1/history/a%2Fb/default"),
        ("größe 1/x", "/v1/history/gr%C3%B6%C3%9Fe%201/x"),
    ],
)
def test_the_name_of_an_aggregate_goes_into_the_path(aggregate: str, path: str) -> None:
    paths: list[bytes] = []

    def play(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return httpx.Response(200, json={"items": [], "next": None})

    with client(play) as asked:
        asked.history(aggregate)
    assert paths == [path.encode()]


@pytest.mark.parametrize("address", ["nonsense", "ftp://host", ""])
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:8321"), Client(address) as asked:
        asked.slots()


@pytest.mark.parametrize(
    ("identity", "says"),
    [
        ("", "a run's id, found none"),
        ("..", "found '..'"),
        ("../slots", "a run's id, such as the lists show, found '../slots'"),
        ("x" * 100_000, "at most"),
        ("\udcff", "in Unicode"),
    ],
)
def test_an_id_that_no_path_can_hold_is_never_sent(identity: str, says: str) -> None:
    with client(answering(200, {})) as asked:
        with pytest.raises(BadArgument, match=says):
            asked.run(identity)
        if identity and not identity.startswith(".."):
            with pytest.raises(BadArgument, match="definition"):
                asked.runs(definition=identity)
