"""The example: it compiles, its activities fit each other, and its stimuli are what their generator says."""

import json
from collections import Counter, defaultdict
from typing import Any

from examples.orders import Order, orders, orders_v2, reserve
from examples.orders.generate import ORDERS, PATH, stimuli
from interlock.activities import ActivityContext
from interlock.domain.definitions.compiler import compile_document
from interlock.domain.definitions.executable import Executable
from interlock.domain.messages import Origin, RejectStimulus, RouteStimulus
from interlock.domain.routing.intake import read_stimulus
from interlock.targets import collect, load_target

CONTEXT = ActivityContext(execution_id="e", node_id="n", attempt=1, idempotency_key="k")


def read() -> list[RouteStimulus | RejectStimulus]:
    """The file as the engine reads it."""
    return [
        read_stimulus(
            line.encode("utf-8"),
            origin=Origin(channel="kafka", topic="stimuli@1", partition=0, offset=offset),
            arrived_at_ms=1,
            shell="default",
            bytes_max=1_000_000,
        )
        for offset, line in enumerate(PATH.read_text("utf-8").splitlines())
    ]


def test_the_file_is_what_the_generator_makes() -> None:
    assert PATH.read_text("utf-8").splitlines() == stimuli()


def test_other_orders_can_be_had_from_another_seed() -> None:
    assert set(stimuli(seed=2, first=9001, orders=20)).isdisjoint(stimuli())


def test_every_order_is_paid_in_full_and_in_time_to_live() -> None:
    routed = [message for message in read() if isinstance(message, RouteStimulus)]
    placed = {m.correlation: Order.model_validate_json(m.data) for m in reversed(routed) if m.name == "order.placed"}
    paid: dict[str, Any] = {m.correlation: json.loads(m.data) for m in routed if m.name == "payment.received"}
    assert len(placed) == ORDERS
    assert placed.keys() == paid.keys()
    for key, order in placed.items():
        assert paid[key]["amount_cents"] == sum(line.quantity * line.unit_price_cents for line in order.lines)
    assert {m.ttl_ms for m in routed if m.name == "payment.received"} == {3_600_000}


def test_some_payments_come_first_some_records_twice_and_one_key_is_used_again() -> None:
    routed = [message for message in read() if isinstance(message, RouteStimulus)]
    seen: defaultdict[str, list[str]] = defaultdict(list)
    early = 0
    for message in routed:
        if message.name == "payment.received" and f"placed-{message.correlation}" not in seen:
            early += 1
        seen[message.idempotency_key].append(message.data)
    assert early >= 5
    assert sum(len(data) > 1 for data in seen.values()) >= 10
    assert [key for key, data in seen.items() if len(set(data)) > 1] == ["placed-ord-1002"]


def test_what_no_engine_can_take_is_malformed_in_many_ways() -> None:
    rejected = [message for message in read() if isinstance(message, RejectStimulus)]
    assert Counter(message.reason for message in rejected) == {"unreadable": 2, "unknown-type": 1, "invalid": 4}


def test_both_versions_compile_under_one_name_and_differ() -> None:
    first, second = (compile_document(load_target(f"examples.orders:{name}")) for name in ("orders", "orders_v2"))
    assert isinstance(first, Executable)
    assert isinstance(second, Executable)
    assert first.definition_id == second.definition_id == orders.name == orders_v2.name
    assert first.version != second.version


async def test_its_activities_lead_from_an_order_to_its_parcel() -> None:
    app = collect("examples.orders")
    assert app.names == ("confirm", "pack", "reserve", "ship")
    line = next(line for line in stimuli() if '"order.placed"' in line and '"correlation": "ord-1001"' in line)
    order = json.dumps(json.loads(line)["data"])
    reservation = await app.call("reserve", {"order": order}, CONTEXT)
    assert reservation == (await reserve(Order.model_validate_json(order))).model_dump_json()
    total = json.loads(reservation)["total_cents"]
    payment = json.dumps({"order_id": "ord-1001", "payment_id": "p", "amount_cents": total})
    parcel = await app.call("pack", {"order": order, "reservation": reservation, "payment": payment}, CONTEXT)
    shipment = await app.call("ship", {"order": order, "parcel": parcel}, CONTEXT)
    confirmation = await app.call("confirm", {"order": order, "shipment": shipment}, CONTEXT)
    assert json.loads(shipment)["tracking_number"] in json.loads(confirmation)["text"]
