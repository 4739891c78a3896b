"""Commands whose id was used before: the same again does nothing, another one is a conflict."""

import json
from dataclasses import replace

import pytest

from interlock.domain.asked import asked_of
from interlock.domain.decider import NOTHING
from interlock.domain.messages import Owner, Publish, Restore, StartTestRun
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.publication.events import PublicationRequested
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from tests.support.publishing import SHELL, Desk, document, publish, restore, unpublish

FIRST = publish("c1", slot="d")


def trial(command_id: str, data: str = "{}") -> StartTestRun:
    return StartTestRun(
        command_id=command_id,
        shell=SHELL,
        document=document(),
        definition_id="",
        version="",
        reference_id="",
        data=data,
        requested_by="ada",
        requested_at_ms=900,
    )


def desk_with(*messages: PublicationCommand) -> Desk:
    """A desk where these were asked for, folded anew from what was written, as after a restart."""
    desk = Desk()
    for message in messages:
        desk.ask(message)
        if isinstance(message, Publish | Restore):
            desk.prepare(message.command_id)
    folded = PublishingShard()
    for change in desk.changes:
        folded.apply(change.stream, change.event)
    return replace(desk, shard=folded)


def conflict(desk: Desk, message: PublicationCommand) -> str:
    found = desk.ask(message)
    assert isinstance(found, Refusal), found
    assert found.kind == "conflict"
    return found.sentence


@pytest.mark.parametrize(
    "other",
    [
        publish("c1", document("other"), slot="d"),
        publish("c1", document(pause="2h"), slot="d"),
        publish("c1"),
        publish("c1", slot="d", expect_revision=0),
        publish("c1", slot="d", owner=Owner(kind="team", id="a")),
        publish("c1", slot="d", take_over=True),
        unpublish("c1", slot="d"),
        restore("c1", slot="d"),
        trial("c1"),
    ],
)
def test_another_command_under_a_used_id_is_refused_naming_what_that_was_used_for(other: PublicationCommand) -> None:
    sentence = conflict(desk_with(FIRST), other)
    assert "under the command id 'c1' what it was first used for (publish 'orders' in slot 'd'" in sentence


def test_the_same_command_again_does_nothing_whoever_sends_it_and_however_its_document_is_written() -> None:
    written = json.dumps(dict(reversed(json.loads(FIRST.document).items())), indent=2)
    same = replace(FIRST, document=written, requested_by="bob", requested_at_ms=7_000)
    assert desk_with(FIRST).ask(same) is NOTHING


def test_an_id_is_used_up_in_its_shell_alone() -> None:
    desk = desk_with(FIRST)
    assert desk.asked(replace(publish("c1", document("other")), shell="other")).decided is not NOTHING
    assert asked_of(FIRST) != asked_of(replace(FIRST, shell="other"))


def test_unpublishes_restores_and_test_runs_use_their_ids_up_too() -> None:
    desk = desk_with(publish("c1"), publish("c2", document(pause="2h")), restore("r1"), trial("t1"), unpublish("u1"))
    for same in (restore("r1"), trial("t1"), unpublish("u1")):
        assert desk.ask(same) is NOTHING
    assert "restore 'orders' in slot 'default'" in conflict(desk, publish("r1"))
    assert "restore 'orders' in slot 'default'" in conflict(desk, restore("r1", "c1"))
    assert "start a test run of 'orders'" in conflict(desk, trial("t1", '{"other":1}'))
    assert "start a test run of 'orders'" in conflict(desk, publish("t1"))
    assert "unpublish 'orders' in slot 'default'" in conflict(desk, unpublish("u1", expect_revision=3))


def test_a_command_that_made_nothing_has_not_used_its_id_up() -> None:
    desk = Desk()
    assert isinstance(desk.ask(restore("c1")), Refusal)
    desk.ask(unpublish("c1"))
    desk.activate("c1")
    assert desk.publication("c1").status == "active"


def test_of_a_fact_that_does_not_tell_what_was_asked_only_the_verb_counts() -> None:
    """Logs that were written before it was recorded are read on."""
    desk = Desk()
    desk.ask(FIRST)
    folded = PublishingShard()
    for change in desk.changes:
        event = change.event
        folded.apply(change.stream, replace(event, asked="") if isinstance(event, PublicationRequested) else event)
    old = replace(desk, shard=folded)
    assert old.ask(publish("c1", document("other"))) is NOTHING
    assert "publish 'orders' in slot 'd'" in conflict(old, unpublish("c1"))


def test_what_was_asked_has_the_same_digits_for_ever() -> None:
    """They are storage: a field that comes later has to leave them as they are."""
    assert asked_of(unpublish("u1")) == "c73dcddc2f3a55fdbf99752e11964b35"
