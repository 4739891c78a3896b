"""Test runs start from references that live outside slots, and change nothing of what has authority (PUB-17)."""

import copy
import json
from typing import Any

from interlock.domain.decider import NOTHING, Decision
from interlock.domain.definitions.compiler import load
from interlock.domain.messages import StartExecution, StartTestRun
from interlock.domain.publishing.decide import next_due_ms
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.here import TEST_REFERENCE_MS
from interlock.domain.publishing.reference.decide import EXPIRED_MAX, reference_of, run_of
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceExpired,
    SourceReferenceUsed,
)
from interlock.domain.refusal import Refusal
from tests.support.publishing import SHELL, Desk, document, publish


def trial(command_id: str = "t1", text: str = "", **more: str) -> StartTestRun:
    named = {"definition_id": "", "version": "", "reference_id": "", "data": '{"id":1}', **more}
    return StartTestRun(
        command_id=command_id, shell=SHELL, document=text, requested_by="ada", requested_at_ms=900, **named
    )


def decided(desk: Desk, message: StartTestRun) -> Decision:
    found = desk.ask(message)
    assert isinstance(found, Decision), found
    return found


def start_of(found: Decision) -> StartExecution:
    (start,) = (intent.message for intent in found.intents if isinstance(intent.message, StartExecution))
    return start


def authority(desk: Desk) -> tuple[Any, ...]:
    shard = desk.shard
    parts = (shard.slots, shard.publications, shard.ledgers, shard.selected, shard.policies, shard.pending)
    return copy.deepcopy(parts)


def test_a_draft_is_compiled_saved_referred_to_and_started_in_one_commit() -> None:
    """Proves: PUB-17"""
    desk = Desk()
    found = decided(desk, trial(text=document()))
    saved, created, used = (change.event for change in found.changes)
    assert isinstance(saved, ExecutableSaved)
    assert isinstance(created, SourceReferenceCreated)
    assert isinstance(used, SourceReferenceUsed)
    assert load(saved.content).artifact_id == created.artifact_id == saved.artifact_id
    assert (created.kind, created.names, bool(created.draft_digest)) == ("test-run", "draft", True)
    assert (created.publication_id, created.slot_id, created.requested_by) == ("", "", "ada")
    assert created.expires_at_ms == desk.now_ms + TEST_REFERENCE_MS
    start = start_of(found)
    assert (start.execution_id, start.artifact_id, start.data) == (run_of(SHELL, "t1"), saved.artifact_id, '{"id":1}')
    assert (start.slot_id, start.publication_id, start.trigger_node, start.stimulus_id) == ("", "", "", "")
    assert start.test_reference_id == created.reference_id == used.reference_id == reference_of(SHELL, "t1")
    ((status, body),) = desk.replies("t1")
    assert (status, body["executionId"], body["referenceId"]) == ("done", start.execution_id, created.reference_id)


def test_slots_claims_and_publications_are_as_before() -> None:
    """Proves: PUB-17, PUB-03 (a TestRun reference grants no production start)"""
    desk = Desk()
    desk.activate("c1")
    desk.ask(publish("c2", document(pause="3h")))
    before = authority(desk)
    # It claims what others have: a test run claims nothing, so nothing stands against it.
    found = decided(desk, trial(text=document("rival", on=("gate:north",), pause="9h")))
    decided(desk, trial("t2", text=document("again", on=("gate:north",))))
    assert authority(desk) == before
    assert {change.stream.partition(":")[0] for change in found.changes} == {"executable", "source-reference"}
    assert {intent.context for intent in found.intents} == {"executions", "replies"}


def test_an_executable_that_is_there_is_used_again() -> None:
    desk = Desk()
    published = desk.activate("c1")
    found = decided(desk, trial(text=document()))
    assert [type(change.event) for change in found.changes] == [SourceReferenceCreated, SourceReferenceUsed]
    assert start_of(found).artifact_id == published.artifact_id


def test_a_version_that_was_published_can_be_tried_whatever_became_of_it() -> None:
    """Proves: PUB-17 (a design version)"""
    desk = Desk()
    desk.activate("c1")
    old = desk.activate("c2", document(pause="7h"))
    desk.activate("c3", json.dumps({**json.loads(document()), "version": "next"}))
    found = decided(desk, trial(definition_id="orders", version=old.definition_version))
    created = found.changes[0].event
    assert isinstance(created, SourceReferenceCreated)
    assert (created.names, created.draft_digest, created.artifact_id) == ("version", "", old.artifact_id)
    unknown = desk.ask(trial("t2", definition_id="orders", version="nobody's"))
    assert isinstance(unknown, Refusal)
    assert unknown.kind == "not-found"


def test_further_test_runs_start_from_a_reference_until_its_time_is_over() -> None:
    """Proves: PUB-17 (expires by policy)"""
    desk = Desk()
    first = decided(desk, trial(text=document()))
    reference = start_of(first).test_reference_id
    again = decided(desk, trial("t2", reference_id=reference, data="2"))
    assert [type(change.event) for change in again.changes] == [SourceReferenceUsed]
    assert start_of(again).artifact_id == start_of(first).artifact_id
    assert start_of(again).execution_id != start_of(first).execution_id
    desk.now_ms = due_ms = next_due_ms(desk.shard) or 0
    assert due_ms == 1_000 + TEST_REFERENCE_MS
    # The time itself decides, also where the timer comes late.
    late = desk.ask(trial("t3", reference_id=reference))
    assert isinstance(late, Refusal)
    assert (late.kind, dict(late.details)["expiresAtMs"]) == ("state", str(due_ms))
    expired = desk.due()
    assert isinstance(expired, Decision)
    (change,) = expired.changes
    assert change.event == SourceReferenceExpired(reference_id=reference, at_ms=due_ms)
    assert (desk.due(), next_due_ms(desk.shard)) == (NOTHING, None)
    assert isinstance(desk.ask(trial("t4", reference_id=reference)), Refusal)


def test_a_reference_of_nobody_of_another_shell_or_of_a_publication_starts_nothing() -> None:
    """Proves: PUB-17"""
    desk = Desk()
    published = desk.activate("c1")
    own = start_of(decided(desk, trial(text=document()))).test_reference_id
    other = StartTestRun(
        command_id="t9",
        shell="other",
        document="",
        definition_id="",
        version="",
        reference_id=own,
        data="{}",
        requested_by="",
        requested_at_ms=1,
    )
    for message in (
        trial("t2", reference_id="nobody"),
        trial("t3", reference_id=published.source_reference_id),
        other,
    ):
        refused = desk.ask(message)
        assert isinstance(refused, Refusal)
        assert refused.kind == "not-found"


def test_a_command_that_comes_twice_starts_one_run() -> None:
    """Proves: PUB-17, LOG-06"""
    desk = Desk()
    reference = start_of(decided(desk, trial(text=document()))).test_reference_id
    decided(desk, trial("t2", reference_id=reference))
    assert desk.ask(trial(text=document())) is NOTHING
    assert desk.ask(trial("t2", reference_id=reference)) is NOTHING
    desk.now_ms += 2 * TEST_REFERENCE_MS
    desk.due()
    assert desk.ask(trial("t2", reference_id=reference)) is NOTHING


def test_what_does_not_compile_is_refused_and_leaves_nothing() -> None:
    desk = Desk()
    before = copy.deepcopy(desk.shard)
    refused = desk.ask(trial(text=json.dumps({"name": "orders", "steps": []})))
    assert isinstance(refused, Refusal)
    assert (refused.kind, len(refused.faults) > 0) == ("invalid", True)
    assert desk.shard == before


def test_many_references_expire_in_commits_that_fit() -> None:
    desk = Desk()
    for number in range(EXPIRED_MAX + 1):
        decided(desk, trial(f"t{number}", text=document()))
    desk.now_ms += TEST_REFERENCE_MS
    first, second = desk.due(), desk.due()
    assert isinstance(first, Decision)
    assert isinstance(second, Decision)
    assert (len(first.changes), len(second.changes)) == (EXPIRED_MAX, 1)
