"""Triggers as Python, and the same as a document."""

import json

import pytest
import yaml

from interlock import Workflow, cron, event, http, timer, trigger
from interlock.activities import AuthoringError
from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable
from interlock.triggers import Trigger

WORKFLOW = (
    Workflow("orders")
    .on(
        event("order.placed"),
        http.post("/orders"),
        http("/orders/:id", methods=["PUT", "PATCH"], id="change"),
        timer("15m"),
        cron("0 6 * * *", zone="Europe/Paris"),
        cron("30 2 * * sun", gap="skip", overlap="both", id="sundays"),
    )
    .sleep("1h")
)
SAME = """
name: orders
input: null
triggers:
  - {type: event, name: order.placed}
  - {type: http, method: POST, path: /orders}
  - {type: http, method: [PUT, PATCH], path: "/orders/:id", id: change}
  - {type: timer, every: 15m}
  - {type: cron, expression: "0 6 * * *", zone: Europe/Paris}
  - {type: cron, expression: "30 2 * * sun", zone: UTC, gap: skip, overlap: both, id: sundays}
steps:
  - {id: sleep, sleep: 1h}
"""


def compiled(document: object) -> Executable:
    """What a document compiles to."""
    executable = compile_document(json.dumps(document))
    assert isinstance(executable, Executable), executable
    return executable


def test_every_kind_of_trigger_is_the_same_in_python_and_as_a_document() -> None:
    """Proves: TRG-01, SCH-01"""
    assert WORKFLOW.document()["triggers"] == yaml.safe_load(SAME)["triggers"]
    executable = compiled(WORKFLOW.document())
    assert executable == compiled(yaml.safe_load(SAME))
    assert [each.claim for each in executable.triggers] == [
        "event:order.placed",
        "http:POST /orders",
        "http:PUT /orders/:",
        "http:PATCH /orders/:",
        "timer:900000ms",
        "cron:0 6 * * * Europe/Paris",
        "cron:30 2 * * sun UTC gap=skip overlap=both",
    ]


def test_each_method_has_a_name_of_its_own() -> None:
    found = [make("/a") for make in (http.get, http.post, http.put, http.patch, http.delete)]
    assert [each.part()["method"] for each in found] == ["GET", "POST", "PUT", "PATCH", "DELETE"]


def test_what_an_extension_describes_is_passed_on_as_it_is() -> None:
    found = trigger("acme.mqtt", config={"topic": "orders"}, id="node")
    assert found.part() == {"type": "acme.mqtt", "config": {"topic": "orders"}, "id": "node"}
    assert trigger("acme.mqtt", name="orders").part() == {"type": "acme.mqtt", "name": "orders"}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: event(" "), "For an event: expected a name"),
        (lambda: timer("soon"), "For timer('soon'): expected a duration"),
        (lambda: timer("1ms"), "For timer('1ms'): expected an interval of 1000 ms or more, found 1 ms"),
        (lambda: cron("0 6 * *"), "For cron('0 6 * *'): expected five fields"),
        (lambda: cron("0 6 * * *", zone="Paris"), "expected a time zone of the IANA database"),
        (lambda: http.get("orders"), "For http('orders'): expected a path that begins with /"),
        (lambda: http.get("/orders/{id}"), "expected a parameter as :id"),
        (lambda: http("/orders", methods=[]), "For http('/orders'): expected"),
        (lambda: http("/orders", methods=["post"]), "expected one of GET"),
        (lambda: http("/orders", methods=["GET", "GET"]), "expected each claim once"),
        (lambda: trigger(" "), "For trigger(' '): expected a name"),
        (lambda: trigger("timer"), "For trigger('timer'): expected"),
    ],
)
def test_a_mistake_is_an_error_where_it_is_written(make: "type[Trigger]", sentence: str) -> None:
    """Proves: SCH-01, RTE-02"""
    with pytest.raises(AuthoringError) as caught:
        make()
    assert sentence in str(caught.value)
