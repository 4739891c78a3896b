"""Routes and schedules of publications: prepared, visible and gone with the bindings that they belong to."""

from typing import Any

from interlock.projections.rows import MemoryRows
from interlock.projections.trigger_index.fold import VIEW, fold
from interlock.projections.trigger_index.offers import ROUTES, SCHEDULES
from interlock.projections.trigger_index.store import BINDINGS
from tests.projections.journals import recorded
from tests.support.publishing import Desk, publish, triggered_by

KINDS: list[dict[str, Any]] = [
    {"type": "event", "name": "order.placed"},
    {"type": "http", "method": ["GET", "POST"], "path": "/orders/:id"},
    {"type": "timer", "every": "15m"},
    {"type": "cron", "expression": "0 6 * * *", "zone": "Europe/Paris"},
]


def of_kinds(name: str = "orders", *, path: str = "/orders/:id") -> str:
    """A definition that is started in every way."""
    triggers = [{**each, "path": path} if each["type"] == "http" else each for each in KINDS]
    return triggered_by(*triggers, name=name)


def folded(desk: Desk, *, times: int = 1) -> MemoryRows:
    """The rows after all that the desk decided, each event folded so often."""
    rows = MemoryRows()
    for each in recorded(*desk.changes):
        for _ in range(times):
            fold(each, rows)
    return rows


def states(rows: MemoryRows) -> list[tuple[str, str]]:
    """Claim or route, and whether it is seen."""
    found = [(each.claim, each.state) for each in rows.all(BINDINGS)]
    found += [(f"{each.method} {each.template}", each.state) for each in rows.all(ROUTES)]
    return sorted(
        found + [(f"{each.kind} {each.expression or each.every_ms}", each.state) for each in rows.all(SCHEDULES)]
    )


ALL = [
    "GET /orders/:id",
    "POST /orders/:id",
    "cron 0 6 * * *",
    "cron:0 6 * * * Europe/Paris",
    "event:order.placed",
    "http:GET /orders/:",
    "http:POST /orders/:",
    "interval 900000",
    "timer:900000ms",
]


def test_all_claims_of_one_publication_stand_side_by_side_and_are_seen_from_its_activation_on() -> None:
    """Proves: SCH-01, RTE-01, PRJ-03 (case B4)."""
    desk = Desk()
    desk.ask(publish("c1", of_kinds()))
    assert states(folded(desk)) == [(each, "prepared") for each in ALL]
    desk.prepare("c1")
    assert states(folded(desk)) == [(each, "active") for each in ALL]


def test_the_same_events_twice_give_the_same_rows() -> None:
    """Proves: TRG-05, PRJ-06 (case B5: on every replica, and where events are folded twice)."""
    desk = Desk()
    desk.activate("c1", of_kinds())
    assert folded(desk).digest(VIEW.tables) == folded(desk, times=2).digest(VIEW.tables)


def test_two_slots_that_share_an_artifact_share_no_row_and_one_goes_without_the_other() -> None:
    """Proves: TRG-05 (case H11)."""
    desk = Desk()
    text = triggered_by(*KINDS[2:])
    first = desk.activate("c1", text)
    second = desk.activate("c2", text, slot="canary")
    assert first.artifact_id == second.artifact_id
    rows = folded(desk)
    keys = {(each.publication_id, each.binding_id) for each in rows.all(SCHEDULES)}
    assert len(keys) == 4
    assert len({binding for _, binding in keys}) == 4
    third = desk.activate("c3", triggered_by(*KINDS[:1]), slot="canary")
    after = folded(desk)
    assert {each.publication_id for each in after.all(SCHEDULES)} == {first.publication_id}
    assert {each.publication_id for each in after.all(BINDINGS)} == {first.publication_id, third.publication_id}


def test_a_candidate_that_fails_leaves_no_route_and_no_schedule() -> None:
    """Proves: PUB-13 (case C4: the first claimant stays, the second is recorded as failed)."""
    desk = Desk()
    first = desk.activate("c1", of_kinds())
    desk.ask(publish("c2", of_kinds("others", path="/orders/:number")))
    failed = desk.publication("c2")
    assert failed.failure is not None
    assert {each.claim for each in failed.failure.conflicts} == {"http:GET /orders/:", "http:POST /orders/:"}
    assert {each.definition_id for each in failed.failure.conflicts} == {"orders"}
    assert {each.publication_id for each in folded(desk).all(ROUTES)} == {first.publication_id}


def test_templates_below_different_prefixes_and_the_same_definition_again_are_no_conflict() -> None:
    """Proves: TRG-04, RTE-02 (case C5)."""
    desk = Desk()
    desk.activate("c1", of_kinds())
    assert desk.activate("c2", of_kinds("others", path="/others/:id")).status == "active"
    assert desk.activate("c3", of_kinds()).status == "active"
    desk.ask(publish("c4", of_kinds("thirds", path="/orders/:x")))
    assert desk.publication("c4").status == "failed"
