"""Journals, deliveries and what is swallowed: a true history, altered in one place, breaks the rule of that place."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from interlock.domain.messages import (
    CancelExecution,
    DecideAt,
    Origin,
    Publish,
    RegisterWait,
    RejectStimulus,
    RepairProjection,
    Reply,
    Restore,
    ResumeDeclined,
    ResumeExecution,
    RouteStimulus,
    RoutingReached,
    StartExecution,
    Unpublish,
    WithdrawWait,
)
from interlock.domain.routing.stimulus.events import (
    StimulusRouted,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken
from interlock.log.port import Record
from tests.simulation.checks.altering import Alter, Cases, broken_by, routed
from tests.simulation.checks.story import CODEC, TOPICS, Asked, Decided, Landed, Story, Written

pytestmark = pytest.mark.simulation
CASES = Cases()
breaks = CASES.breaks


# ---- journals -----------------------------------------------------------------------------------------------------


def large(story: Story) -> Decided:
    """An append of publishing with events and promises, which its owner wrote later than its first."""
    return next(step for step in story.decided("publishing") if not step.opened and len(step.written) > 3)


def header(kind: str, name: str, value: bytes) -> Callable[[list[Record]], list[Record]]:
    """Changes a header of the first record of a kind."""

    def change(records: list[Record]) -> list[Record]:
        at = next(index for index, one in enumerate(records) if one.headers[0][1] == kind.encode())
        changed = tuple((key, value if key == name else old) for key, old in records[at].headers)
        return [*records[:at], replace(records[at], headers=changed), *records[at + 1 :]]

    return change


def value(index: int, data: bytes) -> Callable[[list[Record]], list[Record]]:
    """Changes the value of a record."""
    return lambda records: [replace(one, value=data) if at == index else one for at, one in enumerate(records)]


@breaks("torn-append")
def a_record_is_missing(story: Story) -> None:
    large(story).raw = lambda records: records[:-1]


@breaks("stands-void")
def an_append_stands_and_follows_another(story: Story) -> None:
    large(story).raw = header("frame", "follows", b"f" * 32)


@breaks("append-number")
def an_append_has_another_number(story: Story) -> None:
    large(story).raw = header("frame", "append", b"99")


@breaks("event-position")
def a_frame_counts_other_events(story: Story) -> None:
    large(story).raw = header("frame", "position", b"99")


@breaks("event-position")
def an_event_has_another_position(story: Story) -> None:
    large(story).raw = header("event", "position", b"99")


@breaks("foreign-append")
def another_owner_writes(story: Story) -> None:
    large(story).owner = "somebody else"


@breaks("revision-gap")
def a_revision_is_left_out(story: Story) -> None:
    large(story).raw = header("event", "revision", b"7")


@breaks("two-homes")
def a_stream_goes_on_in_another_shard(story: Story) -> None:
    (first, one), *others = story.written(StimulusRouted)
    step, other = next((step, other) for step, other in others if step.home != first.home)
    other.key = one.key
    step.raw = header("event", "revision", b"1")


@breaks("unreadable-event")
def an_event_is_no_record(story: Story) -> None:
    large(story).raw = value(1, b"nothing that anybody wrote")


@breaks("unreadable-note")
def a_note_is_no_record(story: Story) -> None:
    large(story).raw = value(0, b"nothing that anybody wrote")


@breaks("unreadable-note")
def a_note_is_something_else(story: Story) -> None:
    step = large(story)
    step.raw = value(0, CODEC.encode(step.written[0].value))


@breaks("promise-gap")
def a_promise_is_left_out(story: Story) -> None:
    large(story).raw = header("intent", "number", b"7")


# ---- deliveries ---------------------------------------------------------------------------------------------------


def rewrite(landed: tuple[Landed, int], change: Callable[[Record], Record]) -> None:
    """Changes a record that landed in an inbox."""
    step, index = landed
    step.records[index] = change(step.records[index])


def numbered(number: int) -> Callable[[Record], Record]:
    """Gives a record another number."""
    return lambda record: replace(
        record, headers=tuple((key, b"%d" % number if key == "number" else old) for key, old in record.headers)
    )


@breaks("delivered-unpromised")
def a_message_arrives_that_nobody_promised(story: Story) -> None:
    rewrite(story.landed(StartExecution)[0], numbered(99))


@breaks("delivered-differs")
def a_message_arrives_that_says_something_else(story: Story) -> None:
    other = CODEC.encode(replace(story.written(StartExecution)[0][1].value, data="{}"))
    rewrite(story.landed(StartExecution)[0], lambda record: replace(record, value=other))


@breaks("delivery-gap")
def a_message_arrives_before_the_one_before_it(story: Story) -> None:
    _, one = story.written(RoutingReached)[-1]
    last = story.decided("routing")[-1]
    before = sum(1 for step, _ in story.written(RoutingReached) if step.home == last.home)
    progress = replace(last.progress, received=(), delivered=(), answered=())
    story.steps.append(Decided(last.at_ms, last.home, False, last.owner, progress, [replace(one), replace(one)]))
    landed = [step.records[index] for step, index in story.landed(RoutingReached)]
    record = next(each for each in landed if each.value == CODEC.encode(one.value))
    sources = (dict(each.headers)["source"] for each in landed)
    source = next(each for each in sources if each.startswith(b"routing/%d" % last.home[1]))
    headers = tuple((key, source if key == "source" else old) for key, old in record.headers)
    second = numbered(before + 2)(replace(record, headers=headers))
    story.steps.append(Landed(last.at_ms, TOPICS.inbox("publishing", 0), [second]))


@breaks("delivery-gap")
def the_ingress_sends_what_it_had_left_out(story: Story) -> None:
    step, index = story.landed(RouteStimulus)[0]
    story.steps.append(Landed(step.at_ms, step.shard, [numbered(0)(step.records[index])]))


@breaks("inbox-falls")
def an_inbox_is_consumed_again(story: Story) -> None:
    step = story.decided("routing")[-1]
    step.progress = replace(step.progress, inbox=0)


@breaks("inbox-ahead")
def an_inbox_is_consumed_beyond_its_end(story: Story) -> None:
    step = story.decided("routing")[-1]
    step.progress = replace(step.progress, inbox=999)


@breaks("received-wrong")
def what_was_received_is_not_noted(story: Story) -> None:
    step = next(step for step in story.decided("executions") if step.progress.received and not step.opened)
    step.progress = replace(step.progress, received=())


@breaks("delivered-falls")
def a_mark_of_delivery_falls(story: Story) -> None:
    step = [step for step in story.decided("publishing") if step.progress.delivered and not step.opened][-1]
    step.progress = replace(step.progress, delivered=tuple((to, 0) for to, _ in step.progress.delivered))


@breaks("marked-undelivered")
def a_mark_of_delivery_is_ahead(story: Story) -> None:
    step = [step for step in story.decided("publishing") if step.progress.delivered and not step.opened][-1]
    step.progress = replace(step.progress, delivered=tuple((to, 99) for to, _ in step.progress.delivered))


@breaks("marked-undelivered")
def a_mark_of_delivery_to_callers_is_ahead(story: Story) -> None:
    step = story.decided("publishing")[1]
    step.progress = replace(step.progress, delivered=(*step.progress.delivered, ("replies/0", 1)))


@breaks("opened-incomplete")
def an_opened_does_not_say_what_was_received(story: Story) -> None:
    step = [step for step in story.decided("routing") if step.opened][-1]
    step.progress = replace(step.progress, received=())


@breaks("opened-incomplete")
def an_opened_does_not_say_what_was_delivered(story: Story) -> None:
    step = [step for step in story.decided("routing") if step.opened][-1]
    step.progress = replace(step.progress, delivered=())


@breaks("answer-before-command")
def an_answer_comes_before_its_command(story: Story) -> None:
    step, one = next(found for found in story.written(Reply) if found[0].home[0] == "executions")
    one.value = replace(one.value, command_id="later")
    step.progress = replace(step.progress, answered=("later",))


@breaks("answer-differs")
def a_command_gets_two_answers(story: Story) -> None:
    step, _ = story.written(Reply)[0]
    again = story.repeat(Reply)
    again.value = replace(again.value, body="{}")
    step.progress = replace(step.progress, answered=step.progress.answered * 2)


@breaks("answered-note")
def an_answer_is_not_noted(story: Story) -> None:
    step, _ = story.written(Reply)[0]
    step.progress = replace(step.progress, answered=())


def replies(story: Story) -> Iterator[Landed]:
    """What landed where callers read."""
    return (step for step in story.steps if isinstance(step, Landed) and step.shard == TOPICS.user("replies"))


@breaks("replied-unpromised")
def a_caller_is_told_what_was_not_promised(story: Story) -> None:
    step = next(replies(story))
    told = json.loads(step.records[0].value)
    step.records[0] = replace(step.records[0], value=json.dumps({**told, "status": "failed"}).encode())


@breaks("routed-elsewhere")
def a_stimulus_lands_where_it_does_not_belong(story: Story) -> None:
    step, _ = story.landed(RouteStimulus)[0]
    step.shard = TOPICS.inbox("routing", 1 - step.shard.partition)


@breaks("routed-elsewhere")
def a_stimulus_is_forwarded_twice_and_differs(story: Story) -> None:
    step, index = story.landed(RouteStimulus)[0]
    other = CODEC.encode(story.landed_message(RouteStimulus, 1))
    story.steps.append(Landed(step.at_ms, step.shard, [replace(step.records[index], value=other)]))


@breaks("stimulus-lost")
def a_stimulus_is_forwarded_with_another_payload(story: Story) -> None:
    _, one = routed(story, "p9")
    before = next(
        message
        for message in (story.landed_message(RouteStimulus, nth) for nth in range(99))
        if message.idempotency_key == "p9"
    )
    story.arrives_as(CODEC.encode(before), CODEC.encode(replace(before, data="{}")))
    one.value = replace(one.value, data="{}")


# ---- what is swallowed --------------------------------------------------------------------------------------------


ORIGIN = Origin(channel="test")


def swallow(story: Story, context: str, message: object, *, behind: type | None = None) -> None:
    """Lets a shard consume a message and say nothing of it, at the end or behind the first event of a type."""
    last = story.decided(context)[-1] if behind is None else story.written(behind)[0][0]
    end = len(story.steps) if behind is None else story.steps.index(last) + 1
    inbox = TOPICS.inbox(*last.home)
    there = sum(len(step.records) for step in story.steps[:end] if isinstance(step, Landed) and step.shard == inbox)
    data, name = (message, b"") if isinstance(message, bytes) else (CODEC.encode(message), b"any")
    progress = replace(last.progress, inbox=there + 1, received=(), delivered=(), answered=())
    written: list[Written] = []
    story.steps[end:end] = [
        Landed(last.at_ms, inbox, [Record(b"key", data, (("type", name),))]),
        Decided(last.at_ms, last.home, False, last.owner, progress, written),
    ]


@breaks("swallowed-unreadable")
def a_record_that_is_no_message_leaves_no_dead_letter(story: Story) -> None:
    swallow(story, "executions", b"nothing that anybody reads")


@breaks("swallowed-publish")
def a_publish_is_swallowed(story: Story) -> None:
    publish = next(step.what for step in story.steps if isinstance(step, Asked) and isinstance(step.what, Publish))
    swallow(story, "publishing", replace(publish, command_id="another"))


@breaks("swallowed-restore")
def a_restore_is_swallowed(story: Story) -> None:
    swallow(story, "publishing", replace(story.landed_message(Restore, 0), command_id="another"))


@breaks("swallowed-unpublish")
def an_unpublish_is_swallowed(story: Story) -> None:
    asked = next(step.what for step in story.steps if isinstance(step, Asked) and isinstance(step.what, Unpublish))
    swallow(story, "publishing", replace(asked, command_id="another"))


@breaks("swallowed-repair")
def a_repair_is_swallowed(story: Story) -> None:
    swallow(story, "publishing", replace(story.landed_message(RepairProjection, 0), command_id="another"))


@breaks("swallowed-cancel")
def a_cancel_is_swallowed(story: Story) -> None:
    cancel = CancelExecution(command_id="c9", execution_id="e", requested_by="client", reason="")
    swallow(story, "executions", cancel)


@breaks("swallowed-stimulus")
def a_stimulus_is_swallowed(story: Story) -> None:
    swallow(story, "routing", replace(story.landed_message(RouteStimulus, 0), stimulus_id="another"))


@breaks("swallowed-stimulus")
def a_stimulus_with_other_content_is_taken_for_a_repetition(story: Story) -> None:
    home = story.decided("routing")[-1].home
    known = next(
        story.landed_message(RouteStimulus, nth)
        for nth in range(99)
        if story.landed(RouteStimulus)[nth][0].shard == TOPICS.inbox(*home)
    )
    swallow(story, "routing", replace(known, data='"other"', origin=ORIGIN))


@breaks("swallowed-letter")
def a_dead_letter_is_swallowed(story: Story) -> None:
    letter = story.written(RejectStimulus)[0][1].value
    swallow(story, "routing", replace(letter, dead_letter_id="another"))


@breaks("swallowed-wait")
def a_wait_is_swallowed(story: Story) -> None:
    swallow(story, "routing", replace(story.written(RegisterWait)[0][1].value, bookmark_id="another"))


def first_wait(story: Story) -> WaitRegistered:
    """The first wait that was registered; it waits."""
    found = story.written(WaitRegistered)[0][1].value
    assert isinstance(found, WaitRegistered)
    return found


@breaks("swallowed-withdrawal")
def a_withdrawal_is_swallowed(story: Story) -> None:
    wait = first_wait(story)
    message = WithdrawWait(
        shell=wait.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=wait.execution_id,
        bookmark_id=wait.bookmark_id,
    )
    swallow(story, "routing", message, behind=WaitRegistered)


@breaks("swallowed-decline")
def a_decline_is_swallowed(story: Story) -> None:
    wait, taken = first_wait(story), story.written(WaitTaken)[0][1].value
    message = ResumeDeclined(
        shell=wait.shell,
        identity=wait.identity,
        correlation=wait.correlation,
        execution_id=taken.execution_id,
        bookmark_id=taken.bookmark_id,
        stimulus_id=taken.stimulus_id,
    )
    swallow(story, "routing", message, behind=WaitTaken)


@breaks("swallowed-position")
def the_request_to_decide_at_a_position_is_swallowed(story: Story) -> None:
    swallow(story, "routing", DecideAt(shell="default", publication_id="another", position=1))


@breaks("swallowed-start")
def a_start_is_swallowed(story: Story) -> None:
    swallow(story, "executions", replace(story.written(StartExecution)[0][1].value, execution_id="e" * 32))


@breaks("swallowed-resume")
def a_resume_is_swallowed(story: Story) -> None:
    swallow(story, "executions", replace(story.written(ResumeExecution)[0][1].value, stimulus_id="another"))


@breaks("swallowed-reached")
def what_a_shard_has_reached_is_swallowed(story: Story) -> None:
    reached = story.written(RoutingReached)[0][1].value
    swallow(story, "publishing", replace(reached, partition=7))


@pytest.mark.parametrize(("rule", "alter"), CASES.both())
def test_an_altered_history_breaks_its_rule(rule: str, alter: Alter, story: Story) -> None:
    """Proves: LOG-01, PRJ-04."""
    assert broken_by(alter, story) == rule
