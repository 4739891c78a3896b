"""How the orders behave, shown in a rehearsal: no broker, no waiting, no sleeping. The guide on testing explains it."""

from collections.abc import Iterator

import pytest

from examples import orders as shop
from interlock.testing import FaultRates, Rehearsal

ORDER = shop.Order(
    order_id="o-1",
    customer="Ann",
    country="FR",
    lines=[shop.Line(sku="cup", quantity=6, unit_price_cents=250)],
)
PAYMENT = shop.Payment(order_id="o-1", payment_id="p-1", amount_cents=1500)


@pytest.fixture
def stage() -> Iterator[Rehearsal]:
    """An engine that serves the orders."""
    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        yield stage


def test_a_paid_order_is_shipped(stage: Rehearsal) -> None:
    run_id = stage.start("order.placed", ORDER)
    stage.advance(hours=3)
    stage.emit("payment.received", PAYMENT, correlation="o-1")
    run = stage.ended(run_id).run
    assert run.status == "completed"
    assert run.output == {"tracking_number": "trk-cd3e0fda", "carrier": "freight"}


def test_an_order_that_nobody_pays_is_given_up_after_two_days(stage: Rehearsal) -> None:
    run_id = stage.start("order.placed", ORDER)
    stage.advance(days=2)
    run = stage.run(run_id).run
    assert run.status == "faulted"
    assert run.fault is not None
    assert run.fault.type == "WaitTimedOut"


def test_who_pays_too_little_gets_nothing(stage: Rehearsal) -> None:
    run_id = stage.start("order.placed", ORDER)
    stage.emit("payment.received", PAYMENT.model_copy(update={"amount_cents": 1}), correlation="o-1")
    fault = stage.ended(run_id).run.fault
    assert fault is not None
    assert (fault.type, fault.message) == ("Underpaid", "expected 1500 cents for o-1, found 1")
    assert stage.activity("ship").calls == []


def test_after_a_crash_the_carrier_is_asked_again_under_the_same_key(stage: Rehearsal) -> None:
    ship = stage.activity("ship")
    ship.hangs()
    run_id = stage.start("order.placed", ORDER)
    stage.emit("payment.received", PAYMENT, correlation="o-1")
    stage.crash()
    ship.plays()
    stage.restart()
    assert stage.ended(run_id).run.status == "completed"
    first, second = ship.calls
    assert first.idempotency_key == second.idempotency_key


def test_an_order_goes_on_as_it_began_when_the_workflow_changes(stage: Rehearsal) -> None:
    before = stage.start("order.placed", ORDER)
    stage.publish(shop.orders_v2)
    after = stage.start("order.placed", ORDER)
    stage.emit("payment.received", PAYMENT, correlation="o-1")
    assert [step.node_id for step in stage.ended(before).steps] == ["reserve", "payment", "pack", "ship"]
    assert [step.node_id for step in stage.ended(after).steps] == ["reserve", "payment", "pack", "ship", "confirm"]


@pytest.mark.parametrize("seed", range(3))
def test_an_order_survives_a_log_that_loses_what_it_is_told(seed: int) -> None:
    rates = FaultRates(acknowledgement_lost=0.2, never_lands=0.1, unavailable=0.1)
    with Rehearsal(shop, seed=seed, faults=rates) as stage:
        stage.publish(shop.orders)
        run_id = stage.start("order.placed", ORDER, key="the order of o-1")
        assert stage.start("order.placed", ORDER, key="another") != run_id
        stage.emit("payment.received", PAYMENT, correlation="o-1")
        stage.calm()
        assert stage.ended(run_id).run.status == "completed"
