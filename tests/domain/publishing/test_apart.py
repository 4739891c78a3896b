"""What stays apart from slots: definitions, executables, and runs that are pinned to them."""

import dataclasses
from typing import get_args

from interlock.domain.messages import Message, Publish, Restore, StartTestRun, Unpublish
from interlock.domain.publishing.authority import Authority
from interlock.domain.publishing.publication.commands import PublicationCommand
from interlock.domain.publishing.reference.state import is_live, reference_id
from tests.support.publishing import Desk, document, restore, unpublish


def test_a_slot_is_moved_by_its_own_commands_and_there_is_none_that_deletes_a_definition() -> None:
    """Proves: PUB-15 (as far as there are definitions: documents that a publish carries; a command on them that comes
    one day has to be none of these, and a test run, which names a definition, moves no slot)
    """
    commands = {
        message
        for message in get_args(PublicationCommand)
        if "command_id" in {f.name for f in dataclasses.fields(message)}
    }
    assert commands == {Publish, Restore, Unpublish, StartTestRun}
    about = {
        message for message in get_args(Message) if "definition_id" in {f.name for f in dataclasses.fields(message)}
    }
    assert {message.__name__ for message in about} == {"Restore", "Unpublish", "StartExecution", "StartTestRun"}


def test_replacing_unpublishing_and_restoring_leave_every_executable_where_it_is() -> None:
    """Proves: PUB-18"""
    desk = Desk()
    for command, pause in (("c1", "1h"), ("c2", "2h"), ("c3", "3h")):
        desk.activate(command, document(pause=pause))
    desk.ask(unpublish("u1"))
    desk.ask(restore("r1"))
    desk.prepare("r1")
    authority = Authority()
    for change in desk.changes:
        authority.apply(change.stream, change.event)
    for publication in desk.shard.publications.values():
        assert publication.artifact_id in desk.shard.executables
        assert authority.executable(publication.artifact_id) is not None


def test_a_reference_is_live_while_its_publication_is_active_and_no_longer() -> None:
    """Proves: PUB-17"""
    desk = Desk()
    first = desk.activate("c1")
    reference = desk.shard.references[reference_id(first.publication_id)]
    assert first.source_reference_id == reference_id(first.publication_id)
    assert is_live(reference, first)
    desk.activate("c2")
    retired = desk.shard.references[reference_id(first.publication_id)]
    assert not is_live(retired, desk.publication("c1"))
    # Neither half is enough: a reference that isn't retired grants nothing to a publication that is.
    assert not is_live(reference, desk.publication("c1"))
    assert not is_live(retired, first)
