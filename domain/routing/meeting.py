"""Which waits a stimulus meets (STM-05). The rule stands here once, and is asked from both sides.

A wait meets a stimulus of its shell, identity and correlation if its bookmark was committed before the stimulus
arrived, or before its time to live ended; how early or late its registration came makes no difference. An execution
meets a stimulus at most once, and never the one that started it. A wait takes one stimulus, the earliest of the shard
that it may meet; a stimulus for one ends at the first wait, the earliest registered.

Since both sides ask as they come in, no wait ever waits beside a stimulus that it may meet.

A stimulus without a correlation meets waits without one only: those with one belong to other shards.
"""

from collections.abc import Container

from interlock.domain.decider import Change, Intent
from interlock.domain.messages import ResumeExecution
from interlock.domain.routing.shard import RoutingShard
from interlock.domain.routing.stimulus.state import KnownStimulus, MeetingKey, deadline_ms
from interlock.domain.routing.wait.events import WaitTaken
from interlock.domain.routing.wait.state import KnownWait, stream_of


def waits_met(
    shard: RoutingShard,
    key: MeetingKey,
    *,
    stimulus_id: str,
    until_ms: int,
    met: Container[str],
    one: bool,
) -> list[KnownWait]:
    """The waits that a stimulus takes now, in the order of their registration.

    `until_ms` is its deadline, `met` the executions that it has met before, `one` whether it ends at the first.
    """
    waiting = shard.waiting.get(key)
    if waiting is None:
        return []
    found: list[KnownWait] = []
    now_met: set[str] = set()
    for wait in waiting.values():
        if wait.committed_at_ms > until_ms or wait.started_by == stimulus_id:
            continue
        execution_id = wait.execution_id
        # An execution may wait for the same twice; the second wait is for another stimulus.
        if execution_id in met or execution_id in now_met:
            continue
        found.append(wait)
        if one:
            break
        now_met.add(execution_id)
    return found


def stimulus_met(
    shard: RoutingShard,
    key: MeetingKey,
    *,
    execution_id: str,
    committed_at_ms: int,
    started_by: str,
    skew_ms: int,
) -> KnownStimulus | None:
    """The earliest stimulus that a wait takes as it registers; None where it has to wait."""
    first: KnownStimulus | None = None
    for by_key in (shard.untimed, shard.timed):
        stimuli = by_key.get(key)
        if stimuli is None:
            continue
        for stimulus in stimuli.reaching(committed_at_ms - skew_ms):
            if first is not None and first.number < stimulus.number:
                break
            if (
                committed_at_ms <= deadline_ms(stimulus.arrived_at_ms, stimulus.kept_until_ms, skew_ms)
                and stimulus.stimulus_id != started_by
                and execution_id not in stimulus.met
            ):
                first = stimulus
                break
    return first


def taken(wait: KnownWait, stimulus_id: str) -> Change:
    """The wait's side of a meeting."""
    return Change(
        stream_of(wait.execution_id, wait.bookmark_id),
        WaitTaken(execution_id=wait.execution_id, bookmark_id=wait.bookmark_id, stimulus_id=stimulus_id),
    )


def resume(execution_id: str, bookmark_id: str, key: MeetingKey, stimulus_id: str, data: str) -> Intent:
    """What a meeting promises to the execution."""
    shell, identity, correlation = key
    return Intent(
        "executions",
        execution_id,
        ResumeExecution(
            execution_id=execution_id,
            shell=shell,
            bookmark_id=bookmark_id,
            stimulus_id=stimulus_id,
            identity=identity,
            correlation=correlation,
            data=data,
        ),
    )
