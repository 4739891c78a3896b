"""What routing takes for the time of a message: the log's, so that a wrong clock changes nobody else's work."""

from interlock.domain.decider import Decision
from interlock.domain.messages import RegisterWait
from interlock.domain.publishing.authority import Authority
from interlock.domain.routing.wait.events import WaitRegistered
from interlock.processors.mail import Cause, Received
from interlock.processors.ports import Topics
from interlock.processors.routing.handler import RoutingHandler
from interlock.processors.unit import Book, Unit
from interlock.schemas.codec import AvroCodec

SKEW_MS = 2_000
LANDED_MS = 1_700_000_000_000
DAYS_MS = 2 * 86_400_000


def test_a_process_whose_clock_is_days_ahead_neither_believes_it_nor_moves_its_shard_there() -> None:
    """The shard's own clock would forget every stimulus of the last day, and a repetition would start again.

    Proves: STM-04.
    """
    message = RegisterWait(
        shell="default",
        identity="payment.received",
        correlation="k1",
        execution_id="run",
        bookmark_id="wait",
        committed_at_ms=LANDED_MS + DAYS_MS,
        started_by="",
    )
    handler = RoutingHandler(0, Authority(), skew_ms=SKEW_MS, horizon_ms=DAYS_MS // 2)
    unit = Unit(
        book=Book(),
        codec=AvroCodec(),
        topics=Topics("t", {"routing": 1}),
        apply=handler.apply,
        now_ms=LANDED_MS + DAYS_MS,
        number=1,
        publishing=1,
        bytes_max=1 << 20,
    )
    decided = handler.handle(Received(message, "", 0, 0, 0, LANDED_MS, Cause("", "", "")), unit)
    assert isinstance(decided, Decision)
    (registered,) = (change.event for change in decided.changes)
    assert isinstance(registered, WaitRegistered)
    assert registered.committed_at_ms == LANDED_MS + SKEW_MS
