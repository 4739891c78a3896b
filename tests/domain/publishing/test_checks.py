"""What validators and the calendar say of a candidate, before anything of it is written."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from interlock.domain.definitions.providers import PROVIDERS
from interlock.domain.publishing.answers import answer
from interlock.domain.publishing.checks import CandidateSet
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.preflight import preflight
from interlock.domain.publishing.publication.events import PublicationStaged
from interlock.domain.refusal import Fault, Refusal, fault
from tests.support.publishing import Desk, document, publish, restore, triggered_by, wish


@dataclass
class Validator:
    """Says what it was made with, of whatever it is shown."""

    said: object = ()
    id: str = "freeze"
    shown: list[CandidateSet] = field(default_factory=list[CandidateSet])

    def validate(self, candidate: CandidateSet) -> Sequence[Fault]:
        self.shown.append(candidate)
        if isinstance(self.said, BaseException):
            raise self.said
        return cast("Sequence[Fault]", self.said)


class Unreadable(BaseException):
    """Its message can't be read."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


OBJECTION = fault("frozen", "event:a", "no releases on Fridays", "one")


def staged(desk: Desk) -> list[object]:
    """What was written of candidates."""
    events = [change.event for change in desk.changes]
    return [each for each in events if isinstance(each, PublicationStaged | ExecutableSaved)]


def test_an_objection_fails_the_candidate_and_leaves_everything_else_untouched() -> None:
    """Proves: TRG-06, PUB-13"""
    desk = Desk()
    first = desk.activate("c1", document(on=("event:a",)))
    before = len(staged(desk))
    desk.validators = (Validator(), Validator([OBJECTION]))
    desk.ask(publish("c2", document(on=("event:b",))))
    failed = desk.publication("c2").failure
    assert failed is not None
    assert "'freeze' objects at 'event:a': expected no releases on Fridays, found one" in failed.reason
    assert [each.code for each in failed.faults] == ["frozen"]
    assert len(staged(desk)) == before
    assert desk.shard.slot(first.slot_id).publication_id == first.publication_id


def test_validators_are_shown_the_whole_set_with_what_it_would_replace() -> None:
    """Proves: TRG-06"""
    desk = Desk()
    first = desk.activate("c1", document(on=("event:a",)))
    validator = Validator()
    desk.validators = (validator,)
    text = triggered_by({"type": "http", "method": ["GET", "PUT"], "path": "/a/:x"}, {"type": "timer", "every": "1m"})
    desk.ask(publish("c2", text))
    (shown,) = validator.shown
    assert (shown.definition_id, shown.slot_name, shown.replaces) == ("orders", "default", first.publication_id)
    assert [each.claim for each in shown.triggers] == ["http:GET /a/:", "http:PUT /a/:", "timer:60000ms"]
    assert shown.triggers[0].route is not None
    assert shown.triggers[2].schedule is not None


@pytest.mark.parametrize(
    "said",
    [RuntimeError("down"), SystemExit(3), KeyboardInterrupt(), Unreadable(), None, "no", ["no"], OBJECTION],
    ids=lambda said: type(said).__name__,
)
def test_a_validator_that_raises_or_says_something_else_fails_the_publish_with_its_name(said: object) -> None:
    """Proves: TRG-06"""
    desk = Desk(validators=(Validator(said),))
    desk.ask(publish("c1"))
    failed = desk.publication("c1").failure
    assert failed is not None
    assert "publication validator 'freeze'" in failed.reason
    assert [each.code for each in failed.faults] == ["validator-failed"]


def test_a_validator_without_a_proper_id_is_named_by_its_class() -> None:
    """Proves: TRG-06"""
    desk = Desk(validators=(Validator(RuntimeError("down"), id=" "),))
    desk.ask(publish("c1"))
    failed = desk.publication("c1").failure
    assert failed is not None
    assert "publication validator 'Validator'" in failed.reason


def test_a_restore_is_checked_again() -> None:
    """Proves: PUB-14, TRG-06"""
    desk = Desk()
    desk.activate("c1", document(on=("event:a",)))
    desk.activate("c2", document(on=("event:b",)))
    desk.validators = (Validator([OBJECTION]),)
    desk.ask(restore("c3"))
    assert desk.publication("c3").status == "failed"


def test_a_preflight_tells_the_objection_and_asks_only_of_what_would_be_staged() -> None:
    """Proves: PUB-09, TRG-06"""
    desk = Desk()
    validator = Validator([OBJECTION])
    look = {"providers": PROVIDERS, "validators": (validator,), "now_ms": desk.now_ms}
    refused = preflight(desk.shard, wish(), document(), **cast("Any", look))
    assert isinstance(refused, Refusal)
    assert refused.details == (("validator", "freeze"),)
    desk.activate("c1")
    lost = preflight(desk.shard, replace(wish(), expect_revision=0), document(), **cast("Any", look))
    assert not isinstance(lost, Refusal)
    assert lost.action == "lose"
    assert len(validator.shown) == 1


def test_a_schedule_that_never_comes_again_fails_the_publish_naming_its_node() -> None:
    """Proves: SCH-01, PUB-13"""
    desk = Desk()
    desk.ask(publish("c1", triggered_by({"type": "cron", "expression": "0 0 30 2 *", "id": "never"})))
    failed = desk.publication("c1").failure
    assert failed is not None
    assert "For trigger 'never': expected an occurrence that is still to come" in failed.reason
    assert [(each.code, each.where) for each in failed.faults] == [("schedule-over", "never")]


def test_what_is_claimed_and_not_served_yet_is_told_before_and_after() -> None:
    text = triggered_by(
        {"type": "event", "name": "a"},
        {"type": "http", "method": "GET", "path": "/a"},
        {"type": "timer", "every": "1m"},
    )
    desk = Desk()
    looked = preflight(desk.shard, wish(), text, now_ms=desk.now_ms)
    assert not isinstance(looked, Refusal)
    assert [each.partition(",")[0] for each in looked.warnings] == [
        "HTTP endpoints are claimed",
        "Timers and crons are claimed",
    ]
    desk.activate("c1", text)
    desk.serve("c1")
    told = answer(desk.publication("c1"))
    assert told is not None
    assert json.loads(told.body)["warnings"] == list(looked.warnings)
    plain = preflight(desk.shard, wish(), document(), now_ms=desk.now_ms)
    assert not isinstance(plain, Refusal)
    assert plain.warnings == ()
