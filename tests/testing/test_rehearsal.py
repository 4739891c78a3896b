"""The kit that authors test with: time, faults, stand-ins, and sentences that say what is missing."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from examples import orders as shop
from interlock import Workflow, activity, event
from interlock.sdk.client import ApiError
from interlock.testing import FaultRates, Rehearsal, Unfinished

ORDER = shop.Order(
    order_id="o-1", customer="Ann", country="FR", lines=[shop.Line(sku="cup", quantity=2, unit_price_cents=100)]
)
PAID = shop.Payment(order_id="o-1", payment_id="p-1", amount_cents=200)
FAILING = FaultRates(
    acknowledged_late=0.1,
    acknowledgement_lost=0.1,
    lands_late=0.05,
    never_lands=0.05,
    unavailable=0.1,
    delay_s=(0.01, 2.0),
)


def test_time_passes_by_request_and_whatever_is_due_happens_when_it_is_due() -> None:
    """Proves: OPS-05."""
    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        run_id = stage.start("order.placed", ORDER)
        stage.advance(days=1, hours=23)
        assert stage.run(run_id).run.status == "waiting"
        stage.advance(hours=1)
        run = stage.run(run_id).run
        assert run.status == "faulted"
        assert run.fault is not None
        assert run.fault.type == "WaitTimedOut"
        assert run.ended_at_ms is not None
        assert timedelta(milliseconds=run.ended_at_ms - run.started_at_ms) == timedelta(days=2)


def test_a_year_in_which_nothing_happens_costs_nothing() -> None:
    """Proves: OPS-05."""
    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        began, began_s = stage.now, time.process_time()
        stage.advance(days=365)
        assert stage.now - began > timedelta(days=365)
        # Whatever asks again and again whether there is something to do makes this take minutes.
        assert time.process_time() - began_s < 10


def test_what_is_unfinished_says_what_it_waits_for() -> None:
    """Proves: OPS-05."""

    @activity
    def nap() -> None:
        """Does nothing."""

    naps = Workflow("naps").on(event("tired")).sleep("3h").then(nap)
    with Rehearsal(shop, naps) as stage:
        stage.publish(shop.orders)
        stage.publish(naps)
        run_id = stage.start("order.placed", ORDER)
        with pytest.raises(Unfinished, match=r"at step 'payment' for 'payment.received' with correlation 'o-1'.*until"):
            stage.ended(run_id)
        stage.activity("pack").hangs()
        stage.emit("payment.received", PAID, correlation="o-1")
        with pytest.raises(Unfinished, match="waits for the activity 'pack' of step 'pack', which has not returned"):
            stage.ended(run_id)
        sleeping = stage.start(event("tired"))
        assert "sleeps at step 'sleep' until 2023-11-15 01:1" in stage.unfinished()[sleeping]
        with pytest.raises(Unfinished, match=r"started 0 and is unmatched.*Published are: naps, orders"):
            stage.start("order.placd", ORDER)
        stage.activity("pack").plays()
        stage.advance(hours=3)
        assert stage.unfinished() == {}
        assert stage.activity(nap).calls[0].execution_id == sleeping


def test_a_run_whose_code_no_app_has_says_so() -> None:
    """Proves: OPS-05."""
    with Rehearsal(Workflow("other").on(event("x")).sleep("1s")) as stage:
        stage.publish(shop.orders)
        run_id = stage.start("order.placed", ORDER)
        with pytest.raises(Unfinished, match="'reserve', which no app of this rehearsal has"):
            stage.ended(run_id)


def test_activities_raise_and_are_stood_in_for() -> None:
    """Proves: OPS-05."""

    def by_bike(order: shop.Order, parcel: shop.Parcel) -> shop.Shipment:
        return shop.Shipment(tracking_number=f"bike-{order.order_id}-{parcel.boxes}", carrier="bike")

    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        stage.activity(shop.ship).stands_in(by_bike)
        stage.activity("reserve").raises(ConnectionError("no warehouse"))
        failed = stage.ended(stage.start("order.placed", ORDER)).run
        assert failed.fault is not None
        assert (failed.status, failed.fault.type, failed.fault.message) == (
            "faulted",
            "ConnectionError",
            "no warehouse",
        )
        run_id = stage.start("order.placed", ORDER)
        stage.emit("payment.received", PAID, correlation="o-1")
        assert stage.ended(run_id).run.output == {"tracking_number": "bike-o-1-1", "carrier": "bike"}
        with pytest.raises(LookupError, match="confirm, pack, reserve, ship"):
            stage.activity("shp")


def test_after_a_crash_an_activity_is_called_again_under_the_same_key() -> None:
    """Proves: OPS-05."""
    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        ship = stage.activity("ship")
        ship.hangs()
        run_id = stage.start("order.placed", ORDER)
        stage.emit("payment.received", PAID, correlation="o-1")
        assert len(ship.calls) == 1
        stage.crash()
        with pytest.raises(Exception, match="found it down"):
            stage.run(run_id)
        ship.plays()
        stage.restart()
        assert stage.ended(run_id).run.status == "completed"
        assert [call.idempotency_key for call in ship.calls] == [ship.calls[0].idempotency_key] * 2
        assert len(stage.activity("pack").calls) == 1
        types = [entry.type for entry in stage.history(run_id)]
        assert types.count("executions.ActivityCompleted") == 3
        assert types[-1] == "executions.ExecutionCompleted"


@pytest.mark.parametrize("seed", range(3))
def test_in_a_storm_each_order_is_done_once(seed: int) -> None:
    """Proves: OPS-05."""
    with Rehearsal(shop, seed=seed, faults=FAILING) as stage:
        stage.publish(shop.orders)
        run_ids = [stage.start("order.placed", ORDER, key=f"k-{number}") for number in range(3)]
        stage.emit("payment.received", PAID, correlation="o-1")
        stage.restart()
        stage.calm()
        assert {stage.ended(run_id).run.status for run_id in run_ids} == {"completed"}
        assert stage.start("order.placed", ORDER, key="k-new") not in run_ids
        assert len(set(run_ids)) == 3


def test_a_request_that_is_said_again_is_one_stimulus() -> None:
    """Proves: STM-04. Whoever was told "unavailable" doesn't know, and may ask again under the same id."""
    with Rehearsal(shop) as stage:
        stage.publish(shop.orders)
        emitted = [
            stage.client.emit("Event", "order.placed", data={"order_id": "o-1"}, request_id=each)
            for each in ("a", "a", "b")
        ]
        stage.settle()
        assert emitted[0].stimulus_id == emitted[1].stimulus_id != emitted[2].stimulus_id
        assert len(stage.client.runs().items) == 2


def test_one_seed_gives_one_history() -> None:
    """Proves: OPS-05."""

    def history(seed: int) -> list[tuple[str, int, str]]:
        with Rehearsal(shop, seed=seed, faults=FAILING) as stage:
            stage.publish(shop.orders)
            run_id = stage.start("order.placed", ORDER)
            stage.emit("payment.received", PAID, correlation="o-1")
            stage.ended(run_id)
            return [(entry.type, entry.time_ms, entry.owner) for entry in stage.history(run_id)]

    assert history(1) == history(1)
    assert history(1) != history(2)


def test_the_clients_verbs_are_there_and_refusals_are_errors() -> None:
    """Proves: OPS-05."""
    with Rehearsal(shop, checkpoints="coalesced") as stage:
        assert stage.publish("examples.orders:orders").revision == 1
        assert stage.publish(shop.orders_v2).revision == 2
        run_id = stage.start("order.placed", ORDER)
        assert stage.client.cancel(run_id, reason="changed my mind").status == "cancelled"
        assert stage.ended(run_id).run.status == "cancelled"
        with pytest.raises(ApiError):
            stage.publish(Workflow("empty"))
        assert stage.now.tzinfo is UTC
        assert stage.now.date() == datetime(2023, 11, 14, tzinfo=UTC).date()


async def test_in_a_coroutine_it_says_what_to_do() -> None:
    """Proves: OPS-05."""
    with pytest.raises(TypeError, match="found it in a coroutine"):
        Rehearsal(shop)
