"""Activities: JSON in, JSON out, and the registry of those that a process presents."""

import asyncio
import json
import sys
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from interlock import ActivityContext, activity
from interlock.activities import Activities, ActivityExited, AnyActivity, AuthoringError, InvalidInput
from interlock.domain.executions.execution.decide import Invocation

CONTEXT = ActivityContext(execution_id="e1", node_id="n1", attempt=2, idempotency_key="e1:n1:2")
TENANT: ContextVar[str] = ContextVar("TENANT", default="nobody")


class Order(BaseModel):
    order_id: str = Field(alias="orderId")
    total: Decimal


@dataclass
class Receipt:
    number: int
    lines: list[str]


@activity
async def bill(order: Order) -> Receipt:
    """Writes a receipt."""
    return Receipt(number=len(order.order_id), lines=[str(order.total)])


@activity
def reorder(receipt: Receipt, note: str = "none") -> Order:
    return Order(orderId=f"{receipt.number}-{note}", total=Decimal("1.50"))


@activity
async def later(value: "Defined") -> "Defined":
    return Defined(inner=value.inner + 1)


class Defined(BaseModel):
    inner: int


@activity
async def who(context: ActivityContext, thing: int = 0) -> str:
    return f"{context.execution_id} {context.node_id} {context.attempt} {context.idempotency_key} {thing}"


async def called(presented: AnyActivity, **inputs: object) -> Any:
    texts = {name: json.dumps(value) for name, value in inputs.items()}
    return json.loads(await presented.call(texts, CONTEXT))


async def test_models_and_dataclasses_are_read_and_written_by_their_annotations() -> None:
    assert await called(bill, order={"orderId": "abc", "total": "2.50"}) == {"number": 3, "lines": ["2.50"]}
    assert await called(reorder, receipt={"number": 3, "lines": []}) == {"orderId": "3-none", "total": "1.50"}
    assert await called(reorder, receipt={"number": 3, "lines": []}, note="x") == {"orderId": "3-x", "total": "1.50"}


async def test_types_may_be_defined_below_the_activity() -> None:
    assert await called(later, value={"inner": 1}) == {"inner": 2}


async def test_without_annotations_json_is_taken_and_given_as_it_is() -> None:
    def untyped(value: Any, extra: Any = None) -> Any:
        return [value, extra]

    untyped.__annotations__ = {}
    anything = activity(name="anything.at.all")(untyped)
    assert await called(anything, value={"a": [1, None]}) == [{"a": [1, None]}, None]
    assert anything.name == "anything.at.all"
    assert anything.result_schema() is None


async def test_a_context_is_given_and_never_bound() -> None:
    assert await called(who) == "e1 n1 2 e1:n1:2 0"
    assert [parameter.name for parameter in who.parameters] == ["thing"]


async def test_a_plain_function_runs_in_a_thread_with_the_context_of_its_caller() -> None:
    @activity
    def where() -> list[str]:
        return [threading.current_thread().name, TENANT.get()]

    TENANT.set("acme")
    thread, tenant = await called(where)
    assert thread.startswith("activity")
    assert tenant == "acme"


async def test_plain_functions_run_side_by_side() -> None:
    together = threading.Barrier(8, timeout=20)

    @activity
    def meet() -> int:
        return together.wait()

    assert sorted(await asyncio.gather(*(called(meet) for _ in range(8)))) == list(range(8))


def test_calling_one_calls_the_function_itself() -> None:
    order = reorder(Receipt(number=1, lines=[]), note="y")
    assert order.order_id == "1-y"
    assert bill.__doc__ == "Writes a receipt."


@pytest.mark.parametrize("inputs", [{}, {"order": "{}", "other": "1"}, {"odrer": "{}"}])
async def test_other_inputs_than_the_parameters_are_refused_by_name(inputs: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="Expected the inputs order of activity 'bill', found"):
        await bill.call(inputs, CONTEXT)


async def test_a_value_that_does_not_fit_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidInput, match=r"'order\.total' of activity 'bill'") as refused:
        await called(bill, order={"orderId": "secret", "total": "4711x"})
    assert "4711x" not in str(refused.value)


async def test_what_an_activity_raises_goes_through() -> None:
    @activity
    async def fails() -> None:
        raise KeyError("no such order")

    with pytest.raises(KeyError, match="no such order"):
        await called(fails)


async def test_a_result_that_is_not_what_the_annotation_says_is_an_error() -> None:
    @activity
    async def wrong() -> int:
        return "many"  # type: ignore[return-value] # pyright: ignore[reportReturnType] # the point of the test

    with pytest.raises(ValueError, match="valid integer"):
        await called(wrong)


async def test_a_plain_function_that_raises_stop_iteration_ends_all_the_same() -> None:
    @activity
    def first() -> int:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(called(first), timeout=20)


async def test_an_activity_can_not_end_the_process() -> None:
    @activity
    async def leave() -> None:
        sys.exit(3)

    @activity
    def leave_thread() -> None:
        sys.exit(3)

    for presented in (leave, leave_thread):
        with pytest.raises(ActivityExited, match="exits"):
            await called(presented)


def test_parameters_have_to_have_names() -> None:
    @activity
    async def loose(*things: int) -> None: ...

    with pytest.raises(AuthoringError, match="name each one"):
        _ = loose.parameters


def test_an_activity_needs_a_proper_name() -> None:
    with pytest.raises(AuthoringError, match="blank"):
        activity(name=" ")(lambda: None)


async def test_a_registry_calls_by_name_and_serves_what_it_has() -> None:
    registry = Activities([bill, who])
    assert registry.names == ("bill", "who")
    assert (registry.serves("bill"), registry.serves("ship")) == (True, False)
    assert json.loads(await registry.call("who", {"thing": "7"}, CONTEXT)) == "e1 n1 2 e1:n1:2 7"
    with pytest.raises(LookupError, match="Expected an activity of bill, who, found 'ship'"):
        await registry.call("ship", {}, CONTEXT)


async def test_a_registry_invokes_what_a_run_owes() -> None:
    invocation = Invocation(
        execution_id="e9", node_id="n9", activity="who", attempt=1, inputs={"thing": "1"}, idempotency_key="k9"
    )
    assert json.loads(await Activities([who]).invoke(invocation)) == "e9 n9 1 k9 1"


def test_two_activities_of_one_name_are_an_error_that_names_both() -> None:
    @activity(name="bill")
    async def other() -> None: ...

    with pytest.raises(AuthoringError) as refused:
        Activities([bill, other])
    assert "test_activities.bill" in str(refused.value)
    assert "other" in str(refused.value)
    assert Activities([bill, bill]).names == ("bill",)
