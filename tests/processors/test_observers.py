"""What observers can do to an answer: hold it up, turn it into a failure, and nothing else."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from interlock.domain.messages import ProjectionAnswered
from interlock.processors.publishing.observers import (
    CALL_OFF_S,
    OBSERVE_S,
    Observation,
    PreparedPublication,
    observed,
)
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import run_virtual

PUBLICATION = PreparedPublication(
    publication_id="p1", shell="default", definition_id="orders", slot_id="s1", artifact_id="a1", triggers=()
)
ANSWER = ProjectionAnswered(shell="default", publication_id="p1", kind="trigger-index", prepared=True)


@dataclass
class Observer:
    """Takes its time, and raises if it shall."""

    id: str
    takes_s: float = 0
    raises: BaseException | None = None
    told: list[str] = field(default_factory=list[str])

    async def prepared(self, publication: PreparedPublication) -> None:
        self.told.append(publication.publication_id)
        await asyncio.sleep(self.takes_s)
        if self.raises is not None:
            raise self.raises


def test_the_first_observer_that_fails_is_named_and_those_behind_it_are_not_told() -> None:
    """Proves: TRG-06"""
    last = Observer("last")
    cancelled, interrupted = asyncio.CancelledError(), KeyboardInterrupt()
    for raises in (RuntimeError("down"), SystemExit(3), TimeoutError(), cancelled, interrupted, GeneratorExit()):
        why = run_virtual(observed([Observer("first"), Observer("gateway", raises=raises), last], PUBLICATION))
        assert "publication observer 'gateway' raised" in why
    assert last.told == []


def test_whoever_tells_an_observer_can_still_be_cancelled() -> None:
    async def story() -> None:
        telling = asyncio.create_task(observed([Observer("slow", takes_s=5)], PUBLICATION))
        await asyncio.sleep(1)
        telling.cancel()
        await asyncio.wait([telling])
        assert telling.cancelled()

    run_virtual(story())


def test_what_an_observer_raises_can_be_sent_whatever_it_says() -> None:
    why = run_virtual(observed([Observer("odd", raises=ValueError("\ud800 " * 1_000))], PUBLICATION))
    codec = AvroCodec()
    answer = replace(ANSWER, prepared=False, reason=why)
    assert codec.decode(codec.encode(answer)) == answer
    assert "'odd' raised ValueError: \\ud800" in why


def test_an_observer_that_takes_too_long_fails_the_publish() -> None:
    """Proves: TRG-06"""
    why = run_virtual(observed([Observer("slow", takes_s=OBSERVE_S + 1)], PUBLICATION))
    assert "'slow' took longer than 10 s" in why
    assert run_virtual(observed([Observer("slow", takes_s=OBSERVE_S - 1)], PUBLICATION)) == ""


class Stubborn(Observer):
    """Swallows that it is called off."""

    async def prepared(self, publication: PreparedPublication) -> None:
        with suppress(asyncio.CancelledError):
            await super().prepared(publication)
        await super().prepared(publication)


def test_an_observer_that_will_not_be_called_off_fails_the_publish_in_time_and_the_log_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Proves: TRG-06"""

    async def story() -> None:
        why = await observed([Stubborn("stubborn", takes_s=3600)], PUBLICATION)
        assert "'stubborn' took longer than 10 s" in why
        assert asyncio.get_running_loop().time() <= OBSERVE_S + CALL_OFF_S

    run_virtual(story())
    assert "publication observer stubborn goes on although it was called off" in caplog.text


def test_an_answer_is_held_up_until_the_observers_have_ended_and_each_is_told_once() -> None:
    """Proves: TRG-06"""

    async def story() -> None:
        observer, failing = Observer("slow", takes_s=5), Observer("failing", raises=ValueError("no"))
        observation = Observation([observer, failing], lambda _: PUBLICATION)
        assert observation.answers([ANSWER]) == []
        assert observation.under_way
        await observation.news()
        (told,) = observation.answers([ANSWER])
        assert not told.prepared
        assert "'failing' raised ValueError: no" in told.reason
        assert observation.answers([ANSWER]) == [told]
        assert observer.told == ["p1"]

    run_virtual(story())


def test_a_candidate_that_is_gone_meanwhile_is_waited_for_no_more() -> None:
    async def story() -> None:
        observation = Observation([Observer("slow", takes_s=5)], lambda _: PUBLICATION)
        assert observation.answers([ANSWER]) == []
        await asyncio.sleep(0)
        assert observation.answers([]) == []
        await asyncio.sleep(0)
        assert not observation.under_way

    run_virtual(story())


def test_without_observers_every_answer_goes_out_at_once() -> None:
    async def story() -> None:
        observation = Observation([], lambda _: PUBLICATION)
        assert observation.answers([ANSWER]) == [ANSWER]
        assert not observation.under_way

    run_virtual(story())
