"""What a stimulus starts and resumes, what becomes of one that an execution declined, and which ones expire."""

import heapq
from typing import Final

from interlock.domain.decider import NOTHING, Change, Decided, Decision, Intent
from interlock.domain.messages import RejectStimulus, ResumeDeclined, RouteStimulus, StartExecution
from interlock.domain.routing.dead_letter.decide import reject
from interlock.domain.routing.dead_letter.letter import dead_letter_id, excerpt
from interlock.domain.routing.lookup import AuthoritativeBinding, BindingLookup
from interlock.domain.routing.meeting import resume, taken, waits_met
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.stimulus.events import (
    Resumed,
    Started,
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.stimulus.state import deadline_ms, stream_of
from interlock.domain.routing.wait.state import KnownWait
from interlock.domain.sharding import digest, execution_id

EXPIRIES_MAX: Final = 100
"""Stimuli that expire in one decision; further ones are due at once again, and other messages get their turn."""


def route(
    shard: RoutingShard, message: RouteStimulus, now_ms: int, *, bindings: BindingLookup, skew_ms: int
) -> Decided:
    """Starts every matching publication and resumes every matching wait, in one commit, once.

    Repeated within the dedup horizon it is NOTHING; with other content it becomes a dead letter (STM-04).
    """
    # An arrival ahead of the clock is a wrong clock; believed, it would make the shard forget too early.
    arrived_at_ms = min(message.arrived_at_ms, now_ms + skew_ms)
    one = message.deliver == "one"
    past_horizon = arrived_at_ms < shard.clock_ms - shard.horizon_ms
    known = shard.stimuli.get(message.stimulus_id)
    if known is not None:
        if known.kept or arrived_at_ms - known.since_ms <= shard.horizon_ms:
            if known.same_content(message.data, message.ttl_ms, one):
                return NOTHING
            return _conflict(shard, message, now_ms, skew_ms)
        past_horizon = True

    kept_until_ms = None if message.ttl_ms is None else arrived_at_ms + message.ttl_ms
    # The waits come first: one that this stimulus starts can't be among them (STM-02).
    waits = waits_met(
        shard,
        (message.shell, message.identity, message.correlation),
        stimulus_id=message.stimulus_id,
        until_ms=deadline_ms(arrived_at_ms, kept_until_ms, skew_ms),
        met=(),
        one=one,
    )
    starts = _starts(message, bindings)
    routed = StimulusRouted(
        stimulus_id=message.stimulus_id,
        shell=message.shell,
        type=message.type,
        name=message.name,
        identity=message.identity,
        correlation=message.correlation,
        idempotency_key=message.idempotency_key,
        data=message.data,
        arrived_at_ms=arrived_at_ms,
        kept_until_ms=kept_until_ms,
        deliver=message.deliver,
        past_horizon=past_horizon,
        origin=message.origin,
        starts=tuple(started for started, _ in starts),
        resumes=tuple(Resumed(execution_id=wait.execution_id, bookmark_id=wait.bookmark_id) for wait in waits),
    )
    change = Change(stream_of(message.stimulus_id), routed)
    intents = tuple(intent for _, intent in starts)
    if not waits:
        return Decision((change,), intents)
    resumes = [_resume(wait, message.stimulus_id, message.data) for wait in waits]
    return Decision((change, *(taken(wait, message.stimulus_id) for wait in waits)), (*resumes, *intents))


def decline(shard: RoutingShard, message: ResumeDeclined, *, skew_ms: int) -> Decided:
    """Offers the stimulus to the waits that may still meet it; if none does, it is open again for later ones.

    A repeated decline, or one of what was never given, is NOTHING.
    """
    wait = shard.waits.get((message.execution_id, message.bookmark_id))
    if wait is None or not wait.taken_by or wait.taken_by != message.stimulus_id:
        return NOTHING
    stream = stream_of(message.stimulus_id)
    returned = Change(
        stream,
        StimulusReturned(
            stimulus_id=message.stimulus_id, execution_id=message.execution_id, bookmark_id=message.bookmark_id
        ),
    )
    stimulus = shard.stimuli.get(message.stimulus_id)
    # One for all has met every wait that may meet it, as it came or as they did; nothing is left to offer it to.
    if stimulus is None or stimulus.taker != wait.wait:
        return Decision((returned,))
    met = waits_met(
        shard,
        stimulus.key,
        stimulus_id=stimulus.stimulus_id,
        until_ms=deadline_ms(stimulus.arrived_at_ms, stimulus.kept_until_ms, skew_ms),
        met=stimulus.met,
        one=True,
    )
    if not met:
        return Decision((returned,))
    other = met[0]
    matched = StimulusMatched(
        stimulus_id=stimulus.stimulus_id, execution_id=other.execution_id, bookmark_id=other.bookmark_id
    )
    return Decision(
        (returned, Change(stream, matched), taken(other, stimulus.stimulus_id)),
        (_resume(other, stimulus.stimulus_id, stimulus.data),),
    )


def expire(shard: RoutingShard, now_ms: int) -> Decided:
    """Records that the time to live of stimuli has passed, the earliest first, at most `EXPIRIES_MAX` of them."""
    expiries = shard.expiries
    if not expiries or expiries[0][0] > now_ms:
        return NOTHING
    found: dict[str, None] = {}
    # The heap is walked and not changed: only events change the shard.
    frontier = [(expiries[0], 0)]
    while frontier and len(found) < EXPIRIES_MAX:
        (until_ms, number, stimulus_id), at = heapq.heappop(frontier)
        if until_ms > now_ms:
            break
        if shard.is_kept(number, stimulus_id):
            found[stimulus_id] = None
        for child in (2 * at + 1, 2 * at + 2):
            if child < len(expiries):
                heapq.heappush(frontier, (expiries[child], child))
    return Decision(
        tuple(
            Change(stream_of(stimulus_id), StimulusExpired(stimulus_id=stimulus_id, at_ms=now_ms))
            for stimulus_id in found
        )
    )


def _starts(message: RouteStimulus, bindings: BindingLookup) -> list[tuple[Started, Intent]]:
    return [_start(message, binding) for binding in bindings.bindings(message.shell, message.identity)]


def _start(message: RouteStimulus, binding: AuthoritativeBinding) -> tuple[Started, Intent]:
    run = execution_id(message.shell, binding.binding_id, message.stimulus_id)
    started = Started(execution_id=run, publication_id=binding.publication_id, binding_id=binding.binding_id)
    start = StartExecution(
        execution_id=run,
        shell=message.shell,
        definition_id=binding.definition_id,
        slot_id=binding.slot_id,
        publication_id=binding.publication_id,
        artifact_id=binding.artifact_id,
        trigger_node=binding.node_id,
        stimulus_id=message.stimulus_id,
        stimulus_name=message.name,
        data=message.data,
    )
    return started, Intent("executions", run, start)


def _resume(wait: KnownWait, stimulus_id: str, data: str) -> Intent:
    return resume(wait.execution_id, wait.bookmark_id, wait.key, stimulus_id, data)


def _conflict(shard: RoutingShard, message: RouteStimulus, now_ms: int, skew_ms: int) -> Decided:
    """The same key with other content; nothing of the first one's payload is shown."""
    content = digest("content", message.data, str(message.ttl_ms), message.deliver)
    letter = RejectStimulus(
        dead_letter_id=dead_letter_id(message.origin, f"{message.stimulus_id}:{content}"),
        shell=message.shell,
        reason="conflict",
        detail=(
            f"Expected what stimulus {message.stimulus_id} was routed with before under the same idempotency key, "
            "found other data, ttl or deliver; give each stimulus a key of its own"
        ),
        excerpt=excerpt(message.data),
        size=len(message.data.encode("utf-8", "surrogatepass")),
        rejected_at_ms=message.arrived_at_ms,
        origin=message.origin,
    )
    return reject(shard, letter, now_ms, skew_ms=skew_ms)
