"""Projections that don't answer are asked again, durably, until the deadline."""

from interlock.domain.decider import NOTHING, Decision
from interlock.domain.publishing.decide import next_due_ms, publication_id
from interlock.domain.publishing.here import ASK_AGAIN_MS
from interlock.domain.publishing.publication.events import ProjectionAskedAgain
from tests.support.publishing import SHELL, Desk, answered, publish


def test_a_projection_that_does_not_answer_is_asked_again_and_the_deadline_stays() -> None:
    """Proves: PRJ-01, PRJ-02"""
    desk = Desk(kinds=("trigger-index", "routes"))
    desk.ask(publish("c1"))
    desk.ask(answered("c1"))
    deadline_ms = desk.publication("c1").deadline_ms
    for attempt in (2, 3):
        assert next_due_ms(desk.shard) == 1_000 + (attempt - 1) * ASK_AGAIN_MS
        desk.now_ms = 1_000 + (attempt - 1) * ASK_AGAIN_MS - 1
        assert desk.due() is NOTHING
        desk.now_ms += 1
        decided = desk.due()
        assert isinstance(decided, Decision)
        assert [change.event for change in decided.changes] == [
            ProjectionAskedAgain(
                publication_id=publication_id(SHELL, "c1"),
                kind="routes",
                attempt=attempt,
                deadline_ms=deadline_ms,
                ask_again_ms=desk.now_ms + ASK_AGAIN_MS,
                at_ms=desk.now_ms,
            )
        ]
    assert desk.publication("c1").deadline_ms == deadline_ms
    desk.ask(answered("c1", kind="routes"))
    assert (desk.publication("c1").status, next_due_ms(desk.shard)) == ("active", None)
