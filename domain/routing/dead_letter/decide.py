"""Records what could not be routed, and promises it to the dead letters, where any client reads it (STM-07)."""

from interlock.domain.decider import NOTHING, Change, Decided, Decision, Intent
from interlock.domain.messages import RejectStimulus
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.dead_letter.letter import stream_of
from interlock.domain.routing.shard import RoutingShard


def reject(shard: RoutingShard, message: RejectStimulus, now_ms: int, *, skew_ms: int) -> Decided:
    """Repeated it is NOTHING."""
    if message.dead_letter_id in shard.dead_letters:
        return NOTHING
    rejected = StimulusRejected(
        dead_letter_id=message.dead_letter_id,
        shell=message.shell,
        reason=message.reason,
        detail=message.detail,
        excerpt=message.excerpt,
        size=message.size,
        # As with stimuli: a time ahead of the clock would make the shard forget too early.
        rejected_at_ms=min(message.rejected_at_ms, now_ms + skew_ms),
        origin=message.origin,
    )
    return Decision(
        (Change(stream_of(message.dead_letter_id), rejected),),
        (Intent("dead-letters", message.dead_letter_id, message),),
    )
