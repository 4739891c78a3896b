"""Authority and meetings: a true history, altered in one place, breaks the rule of that place."""

import json
from dataclasses import replace

import pytest

from interlock.domain.messages import (
    DecideAt,
    Reply,
    ResumeExecution,
    RoutingReached,
    StartExecution,
)
from interlock.domain.publishing.publication.events import (
    ProjectionPrepared,
    PublicationActivated,
    PublicationRequested,
    PublicationRetired,
    PublicationServed,
    PublicationStaged,
    RoutingShardReached,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired
from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceRetired
from interlock.domain.publishing.slot.events import SlotActivated, SlotEmptied
from interlock.domain.publishing.unpublish.events import (
    Unpublished,
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.routing.stimulus.events import (
    Resumed,
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from tests.simulation.checks.altering import Alter, Cases, broken_by, routed
from tests.simulation.checks.story import CODEC, TOPICS, Story

pytestmark = pytest.mark.simulation
CASES = Cases()
breaks = CASES.breaks
V2 = 2
"""The third publication to be requested takes the place of the first."""


# ---- authority ----------------------------------------------------------------------------------------------------


@breaks("publication-life")
def a_publication_is_requested_twice(story: Story) -> None:
    story.repeat(PublicationRequested)


@breaks("publication-life")
def a_publication_is_served_twice(story: Story) -> None:
    story.repeat(PublicationServed)


@breaks("publication-life")
def a_publication_is_activated_without_having_been_staged(story: Story) -> None:
    story.drop(PublicationStaged)


@breaks("slot-revision")
def a_slot_leaves_a_revision_out(story: Story) -> None:
    story.edit(SlotActivated, 0, revision=2)


@breaks("slot-replaced")
def a_slot_replaces_what_it_did_not_select(story: Story) -> None:
    story.edit(SlotActivated, V2, replaced_publication_id="another")


@breaks("cas-skipped")
def a_slot_is_taken_at_another_revision_than_was_observed(story: Story) -> None:
    story.edit(PublicationRequested, V2, expected_revision=0)


@breaks("activation-position")
def an_activation_names_another_position(story: Story) -> None:
    story.edit(PublicationActivated, 0, position=1)


@breaks("activation-torn")
def a_slot_selects_what_is_not_activated(story: Story) -> None:
    story.drop(PublicationActivated)


@breaks("activation-torn")
def a_publication_is_activated_without_a_source_reference(story: Story) -> None:
    story.drop(SourceReferenceCreated)


@breaks("activation-torn")
def a_publication_is_retired_and_its_source_reference_is_not(story: Story) -> None:
    story.drop(SourceReferenceRetired)


@breaks("two-active")
def a_publication_is_active_that_no_slot_selects(story: Story) -> None:
    story.drop(SlotActivated, V2)


@breaks("exclusive-claimed-twice")
def two_publications_claim_the_same_alone(story: Story) -> None:
    for nth in (0, 1):
        binding = story.written(PublicationStaged)[nth][1].value.bindings[0]
        story.edit(PublicationStaged, nth, bindings=(replace(binding, cardinality="exclusive", claim="the door"),))


@breaks("activated-unprepared")
def a_candidate_is_activated_before_its_rows_are_there(story: Story) -> None:
    story.drop(ProjectionPrepared)


@breaks("activated-unprepared")
def a_view_is_prepared_that_has_not_answered(story: Story) -> None:
    story.edit(ProjectionPrepared, 0, kind="another view")


@breaks("served-early")
def active_is_told_before_every_shard_has_reached_it(story: Story) -> None:
    story.edit(PublicationActivated, 0, routing_shards=3)


@breaks("reached-unpromised")
def a_shard_is_noted_that_has_not_said_that_it_decides_there(story: Story) -> None:
    story.edit(RoutingShardReached, 0, partition=7)


@breaks("reached-early")
def a_shard_says_that_it_decides_where_it_does_not(story: Story) -> None:
    story.edit(RoutingReached, 0, position=99)


@breaks("active-early")
def done_is_answered_of_what_is_not_served(story: Story) -> None:
    story.drop(PublicationServed)


@breaks("repaired-wrongly")
def a_repair_states_what_is_not_so(story: Story) -> None:
    story.edit(ProjectionRepaired, 0, standing="gone", bindings=())


@breaks("publication-life")
def an_unpublish_comes_to_two_outcomes(story: Story) -> None:
    story.repeat(UnpublishSuperseded)


@breaks("publication-life")
def an_unpublish_is_served_twice(story: Story) -> None:
    story.repeat(UnpublishServed)


@breaks("slot-replaced")
def a_slot_is_emptied_of_what_it_did_not_select(story: Story) -> None:
    story.edit(SlotEmptied, 0, publication_id=story.written(PublicationRequested)[0][1].value.publication_id)


@breaks("activation-torn")
def a_slot_is_emptied_and_its_publication_goes_on(story: Story) -> None:
    nth = next(nth for nth, (_, one) in enumerate(story.written(PublicationRetired)) if one.value.unpublish_id)
    story.drop(PublicationRetired, nth)


@breaks("cas-skipped")
def a_slot_is_emptied_at_another_revision_than_was_observed(story: Story) -> None:
    story.edit(Unpublished, 0, expected_revision=0)


@breaks("activation-position")
def an_unpublish_names_another_position(story: Story) -> None:
    story.edit(Unpublished, 0, position=1)


@breaks("served-early")
def an_unpublish_is_told_before_every_shard_has_reached_it(story: Story) -> None:
    story.edit(Unpublished, 0, routing_shards=3)


@breaks("reached-unpromised")
def a_shard_is_noted_that_has_not_said_that_it_decides_without_it(story: Story) -> None:
    story.edit(UnpublishShardReached, 0, partition=7)


@breaks("active-early")
def an_unpublish_is_answered_that_is_not_served(story: Story) -> None:
    story.drop(UnpublishServed)


@breaks("active-early")
def nothing_is_said_to_be_there_of_a_slot_that_is_taken(story: Story) -> None:
    taken = story.written(SlotActivated)[0][1].value.slot_id
    nth = next(nth for nth, (_, one) in enumerate(story.written(Reply)) if '"nothing"' in one.value.body)
    body = {**json.loads(story.written(Reply)[nth][1].value.body), "slotId": taken}
    story.edit(Reply, nth, body=json.dumps(body))


@breaks("position-ahead")
def routing_decides_at_what_is_not_there(story: Story) -> None:
    step = story.decided("routing")[-1]
    step.progress = replace(step.progress, publishing=999)


@breaks("position-falls")
def routing_decides_at_an_older_position(story: Story) -> None:
    step = story.decided("routing")[-1]
    step.progress = replace(step.progress, publishing=0)


@breaks("start-of-retired")
def a_stimulus_starts_what_was_replaced(story: Story) -> None:
    old = routed(story, "o1")[1].value.starts[0]
    _, one = routed(story, "o4")
    one.value = replace(one.value, starts=(old,))


@breaks("start-missing")
def a_stimulus_starts_nothing(story: Story) -> None:
    _, one = routed(story, "o1")
    one.value = replace(one.value, starts=())


@breaks("start-twice")
def a_stimulus_starts_two_runs_of_one_binding(story: Story) -> None:
    _, one = routed(story, "o1")
    one.value = replace(one.value, starts=one.value.starts * 2)


@breaks("start-wrong-run")
def a_stimulus_starts_a_run_of_another_name(story: Story) -> None:
    _, one = routed(story, "o1")
    one.value = replace(one.value, starts=(replace(one.value.starts[0], execution_id="e" * 32),))


@breaks("start-unpromised")
def a_start_is_not_promised(story: Story) -> None:
    story.drop(StartExecution)


@breaks("start-unpromised")
def a_start_is_promised_with_another_payload(story: Story) -> None:
    story.edit(StartExecution, 0, data="{}")


@breaks("old-after-active")
def a_shard_decides_at_the_old_after_a_client_heard_of_the_new(story: Story) -> None:
    old, new = (story.written(PublicationActivated)[nth][1].value for nth in (1, V2))
    story.edit(PublicationActivated, V2, routing_shards=1)
    for kind in (DecideAt, RoutingReached):
        for _, one in story.written(kind):
            of_one = one.destination == "routing/1" if kind is DecideAt else one.value.partition == 1
            if one.value.publication_id == new.publication_id and of_one:
                before = CODEC.encode(one.value)
                one.value = replace(one.value, publication_id=old.publication_id, position=old.position)
                context, partition = one.destination.split("/")
                story.arrives_as(before, CODEC.encode(one.value), TOPICS.inbox(context, int(partition)))
    for step, one in story.written(RoutingShardReached):
        if one.value.publication_id == new.publication_id and one.value.partition == 1:
            step.written = [other for other in step.written if other is not one]
    for step in story.decided("routing"):
        if step.home[1] == 1 and step.progress.publishing >= new.position:
            step.progress = replace(step.progress, publishing=new.position - 1)


# ---- meetings -----------------------------------------------------------------------------------------------------


@breaks("routed-twice")
def a_stimulus_is_routed_twice(story: Story) -> None:
    step, one = routed(story, "p9")
    step.written.insert(step.written.index(one) + 1, replace(one))


@breaks("stimulus-swallowed")
def a_stimulus_passes_by_a_wait(story: Story) -> None:
    _, one = routed(story, "p1")
    one.value = replace(one.value, resumes=())


@breaks("stimulus-swallowed")
def a_wait_registers_beside_a_stimulus(story: Story) -> None:
    story.drop(StimulusMatched)


@breaks("met-wrongly")
def a_stimulus_meets_a_wait_that_is_not_its_own(story: Story) -> None:
    _, one = routed(story, "p9")
    one.value = replace(one.value, resumes=(Resumed(execution_id="e", bookmark_id="b"),))


@breaks("matched-not-earliest")
def a_wait_takes_a_later_stimulus(story: Story) -> None:
    story.edit(StimulusMatched, 0, stimulus_id=routed(story, "p2 again")[1].value.stimulus_id)


@breaks("taken-unmatched")
def a_wait_is_taken_by_what_it_did_not_meet(story: Story) -> None:
    story.edit(WaitTaken, 0, stimulus_id="another")


@breaks("wait-untaken")
def a_wait_that_was_met_is_not_taken(story: Story) -> None:
    story.drop(WaitTaken)


@breaks("wait-taken-twice")
def a_wait_is_taken_twice(story: Story) -> None:
    story.repeat(WaitTaken)


@breaks("wait-registered-twice")
def a_wait_registers_twice(story: Story) -> None:
    story.repeat(WaitRegistered)


@breaks("returned-untaken")
def a_stimulus_is_returned_that_was_not_given(story: Story) -> None:
    story.edit(StimulusReturned, 0, stimulus_id=routed(story, "p9")[1].value.stimulus_id)


@breaks("returned-unasked")
def a_stimulus_is_returned_that_nobody_declined(story: Story) -> None:
    step, one = story.written(WaitTaken)[0]
    taken = one.value
    event = StimulusReturned(
        stimulus_id=taken.stimulus_id, execution_id=taken.execution_id, bookmark_id=taken.bookmark_id
    )
    place = step.written.index(one) + 1
    step.written.insert(place, replace(one, key=f"stimulus:{taken.stimulus_id}", value=event))


@breaks("withdrawn-not-waiting")
def a_wait_is_withdrawn_twice(story: Story) -> None:
    story.repeat(WaitWithdrawn)


@breaks("expired-early")
def a_stimulus_expires_before_its_time(story: Story) -> None:
    story.edit(StimulusExpired, 0, at_ms=1)


@breaks("arrival-time")
def a_stimulus_arrived_at_another_time(story: Story) -> None:
    story.edit(StimulusRouted, 0, arrived_at_ms=1)


@breaks("committed-time")
def a_wait_was_committed_at_another_time(story: Story) -> None:
    story.edit(WaitRegistered, 0, committed_at_ms=1)


@breaks("resume-unpromised")
def a_taking_promises_no_resume(story: Story) -> None:
    story.drop(ResumeExecution)


@breaks("impossible")
def a_wait_meets_what_was_never_routed(story: Story) -> None:
    story.edit(StimulusMatched, 0, stimulus_id="never seen")


@pytest.mark.parametrize(("rule", "alter"), CASES.both())
def test_an_altered_history_breaks_its_rule(rule: str, alter: Alter, story: Story) -> None:
    """Proves: LOG-01, PRJ-04."""
    assert broken_by(alter, story) == rule
