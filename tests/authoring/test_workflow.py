"""Workflows in Python: the document that they make, and how parameters find their sources."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from interlock import ActivityContext, Workflow, activity, event
from interlock.activities import AuthoringError
from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable


class Order(BaseModel):
    order_id: str
    customer: str


class Reservation(BaseModel):
    reservation_id: str


@dataclass
class Payment:
    amount: int


@activity
async def reserve(order: Order) -> Reservation:
    return Reservation(reservation_id=order.order_id)


@activity
async def charge(order: Order, reservation: Reservation) -> Payment:
    return Payment(amount=len(order.order_id + reservation.reservation_id))


@activity(name="shipping.ship")
async def ship(where: Order, what: Reservation, payment: Payment, context: ActivityContext, fast: bool = False) -> str:
    return f"{where} {what} {payment} {context} {fast}"


BASE = Workflow("orders", input=Order).on(event("order.placed"))


def inputs(workflow: Workflow) -> dict[str, str]:
    """How the last step is bound."""
    steps: Any = workflow.document()["steps"]
    return dict(steps[-1]["inputs"])


def compiled(workflow: Workflow) -> Executable:
    executable = compile_document(json.dumps(workflow.document()))
    assert isinstance(executable, Executable), executable
    return executable


def test_a_workflow_is_its_document() -> None:
    workflow = (
        Workflow("orders", input=Order, checkpoints="coalesced")
        .on(event("order.placed"), event("order.imported"))
        .then(reserve)
        .wait_for(event("payment.received"), correlate="order_id", timeout="2d")
        .sleep("1h")
        .then(charge, id="settle")
    )
    assert workflow.document() == {
        "name": "orders",
        "input": Order.model_json_schema(),
        "triggers": [{"type": "event", "name": "order.placed"}, {"type": "event", "name": "order.imported"}],
        "steps": [
            {
                "id": "reserve",
                "activity": "reserve",
                "inputs": {"order": "input"},
                "output": Reservation.model_json_schema(),
            },
            {
                "id": "payment_received",
                "wait": {"event": "payment.received", "correlate": "input.order_id", "timeout": "2d"},
            },
            {"id": "sleep", "sleep": "1h"},
            {
                "id": "settle",
                "activity": "charge",
                "inputs": {"order": "input", "reservation": "reserve"},
                "output": {
                    "title": "Payment",
                    "type": "object",
                    "properties": {"amount": {"title": "Amount", "type": "integer"}},
                    "required": ["amount"],
                },
            },
        ],
        "checkpoints": "coalesced",
    }
    assert [node.id for node in compiled(workflow).nodes] == ["reserve", "payment_received", "sleep", "settle"]


def test_each_call_gives_a_new_workflow_and_leaves_the_old_one() -> None:
    one = BASE.then(reserve)
    two = one.then(charge)
    assert [len(workflow.steps) for workflow in (BASE, one, two)] == [0, 1, 2]
    assert two.activities() == (reserve, charge)


def test_parameters_are_bound_by_their_types_whatever_they_are_called() -> None:
    workflow = BASE.then(reserve).then(charge).then(ship)
    assert inputs(workflow) == {"where": "input", "what": "reserve", "payment": "charge"}


def test_a_parameter_of_a_json_type_or_without_one_is_bound_by_its_name() -> None:
    @activity
    async def note(input: dict[str, Any], charge: int, missing: str = "") -> None: ...

    assert inputs(BASE.then(reserve).then(charge).then(note)) == {"input": "input", "charge": "charge"}


def test_a_waits_payload_is_bound_by_its_steps_name() -> None:
    workflow = BASE.then(reserve).wait_for(event("paid"), id="payment").then(ship)
    assert inputs(workflow)["payment"] == "payment"


def test_of_two_sources_of_a_type_the_one_of_the_name_is_meant() -> None:
    @activity
    async def improve(reserve: Reservation) -> Reservation:
        return reserve

    workflow = BASE.then(reserve).then(improve)
    assert inputs(workflow.then(improve, id="again")) == {"reserve": "reserve"}
    with pytest.raises(AuthoringError, match="reserve and improve have its type") as refused:
        workflow.then(charge)
    assert 'inputs={"reservation": "…"}' in str(refused.value)


def test_a_parameter_may_be_bound_by_hand() -> None:
    @activity
    async def greet(name: str) -> str:
        return name

    assert inputs(BASE.then(greet, inputs={"name": "input.customer"})) == {"name": "input.customer"}
    for wrong in ({"nmae": "input"}, {"name": "nowhere"}, {"name": "input..x"}):
        with pytest.raises(AuthoringError):
            BASE.then(greet, inputs=wrong)


def test_a_parameter_that_finds_no_source_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(AuthoringError) as refused:
        BASE.then(reserve).then(ship)
    said = str(refused.value)
    assert all(
        word in said for word in ("'payment'", "Payment", "'shipping.ship'", "input (Order)", "reserve (Reservation)")
    )


def test_step_ids_are_never_made_unique_silently() -> None:
    with pytest.raises(AuthoringError, match="'reserve' twice; give one of them another"):
        BASE.then(reserve).then(reserve)
    with pytest.raises(AuthoringError, match="'sleep' twice"):
        BASE.sleep("1h").sleep("2h")
    assert len(BASE.then(reserve).then(reserve, id="reserve_again").steps) == 2


@pytest.mark.parametrize(
    ("correlate", "source"),
    [
        ("order_id", "input.order_id"),
        ("input.order_id", "input.order_id"),
        ("reserve.reservation_id", "reserve.reservation_id"),
    ],
)
def test_a_correlation_is_a_field_of_the_input_or_a_path_from_a_step(correlate: str, source: str) -> None:
    workflow = BASE.then(reserve).wait_for(event("paid"), correlate=correlate)
    steps: Any = workflow.document()["steps"]
    assert steps[-1]["wait"]["correlate"] == source


def test_a_correlation_that_is_neither_is_an_error_that_lists_the_fields() -> None:
    with pytest.raises(AuthoringError, match="one of order_id, customer, reserve, found 'orderid'"):
        BASE.then(reserve).wait_for(event("paid"), correlate="orderid")


def test_an_input_of_any_json_lets_a_correlation_be_any_field() -> None:
    workflow = Workflow("loose").on(event("e")).wait_for(event("paid"), correlate="id")
    assert workflow.document()["input"] is None
    assert compiled(workflow).nodes[0].id == "paid"


@pytest.mark.parametrize("duration", ["soon", "", "P1M"])
def test_durations_are_checked_where_they_are_written(duration: str) -> None:
    with pytest.raises(AuthoringError, match="duration"):
        BASE.sleep(duration)
    with pytest.raises(AuthoringError, match="duration"):
        BASE.wait_for(event("paid"), timeout=duration)


def test_names_are_checked_where_they_are_written() -> None:
    with pytest.raises(AuthoringError, match="For a workflow"):
        Workflow("")
    with pytest.raises(AuthoringError, match="For an event"):
        event("a\x00")
    with pytest.raises(AuthoringError, match="step's id"):
        BASE.sleep("1h", id="a b")


def test_the_version_stays_when_only_names_and_bodies_change() -> None:
    """Proves: VER-01"""

    @activity(name="reserve.fast")
    async def reserve_fast(placed: Order) -> Reservation:
        return Reservation(reservation_id=placed.customer)

    first = BASE.then(reserve)
    second = Workflow("eu", input=Order).on(event("order.placed")).then(reserve_fast, id="reserve")
    assert compiled(first).version == compiled(second).version
    assert compiled(first).artifact_id != compiled(second).artifact_id
    assert compiled(first.then(charge)).version != compiled(first).version


def test_a_workflow_says_where_a_publish_goes_that_names_no_slot() -> None:
    """Proves: PUB-08"""
    assert "publish" not in Workflow("orders").document()
    assert Workflow("orders", slot="blue").document()["publish"] == {"slot": "blue"}
    assert Workflow("orders", explicit_slot=True).document()["publish"] == {"explicit": True}
    with pytest.raises(AuthoringError, match="found both"):
        Workflow("orders", slot="blue", explicit_slot=True)
    with pytest.raises(AuthoringError, match="slot of workflow 'orders'"):
        Workflow("orders", slot=" ")
