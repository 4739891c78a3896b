"""What a wait meets as it registers, and when it is gone."""

from interlock.domain.decider import NOTHING, Change, Decided, Decision
from interlock.domain.messages import RegisterWait, WithdrawWait
from interlock.domain.routing.meeting import resume, stimulus_met
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.stimulus.events import StimulusMatched
from interlock.domain.routing.stimulus.state import stream_of as stimulus_stream
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from interlock.domain.routing.wait.state import stream_of


def register(shard: RoutingShard, message: RegisterWait, now_ms: int, *, skew_ms: int) -> Decided:
    """Takes the earliest stimulus that it may meet, or waits. Repeated it is NOTHING, also after it was taken."""
    if (message.execution_id, message.bookmark_id) in shard.waits:
        return NOTHING
    # What is here was committed before now; a later time is a wrong clock, and believed it would miss stimuli.
    committed_at_ms = min(message.committed_at_ms, now_ms + skew_ms)
    key = (message.shell, message.identity, message.correlation)
    stimulus = stimulus_met(
        shard,
        key,
        execution_id=message.execution_id,
        committed_at_ms=committed_at_ms,
        started_by=message.started_by,
        skew_ms=skew_ms,
    )
    stream = stream_of(message.execution_id, message.bookmark_id)
    registered = Change(
        stream,
        WaitRegistered(
            shell=message.shell,
            identity=message.identity,
            correlation=message.correlation,
            execution_id=message.execution_id,
            bookmark_id=message.bookmark_id,
            committed_at_ms=committed_at_ms,
            started_by=message.started_by,
        ),
    )
    if stimulus is None:
        return Decision((registered,))
    matched = StimulusMatched(
        stimulus_id=stimulus.stimulus_id, execution_id=message.execution_id, bookmark_id=message.bookmark_id
    )
    taken = WaitTaken(
        execution_id=message.execution_id, bookmark_id=message.bookmark_id, stimulus_id=stimulus.stimulus_id
    )
    return Decision(
        (registered, Change(stimulus_stream(stimulus.stimulus_id), matched), Change(stream, taken)),
        (resume(message.execution_id, message.bookmark_id, key, stimulus.stimulus_id, stimulus.data),),
    )


def withdraw(shard: RoutingShard, message: WithdrawWait) -> Decided:
    """It waits no more. Of one that is not known, was taken or withdrawn, it is NOTHING.

    Where a stimulus took it first, the execution declines that one (`ResumeDeclined`), and it goes to others.
    """
    wait = shard.waits.get((message.execution_id, message.bookmark_id))
    if wait is None or not wait.waiting:
        return NOTHING
    return Decision(
        (
            Change(
                stream_of(message.execution_id, message.bookmark_id),
                WaitWithdrawn(execution_id=message.execution_id, bookmark_id=message.bookmark_id),
            ),
        )
    )
