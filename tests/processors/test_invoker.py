"""What an activity may do to the process that calls it: nothing but end its own run."""

import asyncio
import json
import math

import pytest

from interlock.activities import ActivityContext, InvalidOutput, activity
from interlock.domain.executions.execution.commands import ActivityFinished, ActivityRaised
from interlock.domain.executions.execution.decide import Invocation
from interlock.processors.executions.invoker import Activities

INVOCATION = Invocation(execution_id="run", node_id="a", activity="a", attempt=1, inputs={}, idempotency_key="k")


class Unreadable(Exception):
    """Its message can't be read."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class Odd(BaseException):
    """An error that `except Exception` misses."""


class Raises:
    """Code of an activity that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def serves(self, activity: str) -> bool:
        """It is here."""
        return True

    async def invoke(self, invocation: Invocation, /) -> str:
        """Raises."""
        raise self._error


async def ended(error: BaseException) -> ActivityRaised:
    """How a call that raises is reported."""
    told: asyncio.Future[ActivityFinished] = asyncio.get_running_loop().create_future()
    activities = Activities(Raises(error), lambda _, finished: told.set_result(finished), output_bytes_max=1024)
    activities.start(INVOCATION)
    finished = await asyncio.wait_for(told, 10.0)
    assert isinstance(finished.result, ActivityRaised)
    assert not activities.under_way("run")
    return finished.result


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), Odd("odd"), Unreadable(), asyncio.CancelledError()]
)
async def test_whatever_an_activity_raises_ends_its_run_and_nothing_else(error: BaseException) -> None:
    """Proves: EXE-02."""
    raised = await ended(error)
    assert raised.error_type == type(error).__name__


async def test_a_run_that_is_asked_to_end_before_its_activity_made_a_step_hears_of_the_end() -> None:
    """Proves: EXE-02."""
    told: asyncio.Future[ActivityFinished] = asyncio.get_running_loop().create_future()
    activities = Activities(Raises(Odd()), lambda _, finished: told.set_result(finished), output_bytes_max=1024)
    activities.start(INVOCATION)
    activities.cancel("run")
    result = (await asyncio.wait_for(told, 10.0)).result
    assert isinstance(result, ActivityRaised)
    assert result.error_type == "Cancelled"
    assert not activities.under_way("run")


async def test_a_message_that_cannot_be_read_is_said_to_be_so() -> None:
    assert "can't be read" in (await ended(Unreadable())).error_message


async def test_a_message_without_unicode_is_written_all_the_same() -> None:
    assert (await ended(ValueError("\ud800"))).error_message == "\\ud800"


@activity
async def endless() -> float:
    """Gives what JSON can't say."""
    return math.inf


@activity
async def plain() -> dict[str, float]:
    """Gives what it can."""
    return {"größe": 1.5}


async def test_a_number_that_json_cannot_say_is_no_result() -> None:
    context = ActivityContext(execution_id="run", node_id="a", attempt=1, idempotency_key="k")
    with pytest.raises(InvalidOutput):
        await endless.call({}, context)
    assert json.loads(await plain.call({}, context)) == {"größe": 1.5}
