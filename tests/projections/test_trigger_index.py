"""Which bindings a stimulus meets at each step of a publication, and what the holder answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.domain.decider import Change
from interlock.domain.messages import ProjectionAnswered
from interlock.domain.publishing.publication.events import (
    ProjectionAskedAgain,
    PublicationFailed,
    PublicationStaged,
    PublicationSuperseded,
)
from interlock.domain.publishing.reconciliation.events import ProjectionRepaired, Standing
from interlock.projections.files import ViewFiles
from interlock.projections.reader import ViewReader
from interlock.projections.rows import MemoryRows
from interlock.projections.store import Store, StoreAway
from interlock.projections.trigger_index.fold import VIEW, fold
from interlock.projections.trigger_index.holder import TriggerIndexHolder
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from interlock.projections.trigger_index.store import ASKS, BINDINGS, CANDIDATES, AskRow
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, live, recorded
from tests.projections.stories import PLACED, SHELL, SLOT, activation, candidate, of_publication, prepared, unpublish


def folded(*changes: Change) -> MemoryRows:
    rows = MemoryRows()
    for each in recorded(*changes):
        fold(each, rows)
    return rows


def states(rows: MemoryRows) -> dict[str, str]:
    return {row.publication_id: row.state for row in rows.all(BINDINGS)}


def test_a_candidates_rows_are_prepared_and_its_ask_is_open() -> None:
    """Proves: PRJ-03."""
    rows = folded(*candidate("p1"))
    assert states(rows) == {"p1": "prepared"}
    assert [(ask.publication_id, ask.kind, ask.deadline_ms) for ask in rows.all(ASKS)] == [
        ("p1", "trigger-index", 60_000)
    ]


def test_a_question_that_is_asked_again_stands_once_more_even_where_its_row_was_lost() -> None:
    """Proves: PRJ-02"""
    rows = folded(*candidate("p1"))
    before = rows.digest(VIEW.tables)
    again = ProjectionAskedAgain(
        publication_id="p1", kind="trigger-index", attempt=2, deadline_ms=60_000, ask_again_ms=9_000, at_ms=6_000
    )
    rows.delete(ASKS, "p1", "trigger-index")
    for each in recorded(*of_publication("p1", again)):
        fold(each, rows)
    assert rows.digest(VIEW.tables) == before
    ended = folded(*candidate("p1"), *prepared("p1"), *activation("p1", revision=1), *unpublish("u1", "p1", revision=2))
    for each in recorded(*of_publication("p1", again)):
        fold(each, ended)
    assert ended.all(ASKS) == []


def test_the_recorded_answer_closes_the_ask() -> None:
    assert folded(*candidate("p1"), *prepared("p1")).all(ASKS) == []


def test_an_activation_puts_the_new_bindings_in_place_of_the_old_ones() -> None:
    """Proves: PRJ-04."""
    rows = folded(
        *candidate("p1"),
        *prepared("p1"),
        *activation("p1", revision=1),
        *candidate("p2", revision=1),
        *prepared("p2"),
        *activation("p2", revision=2, replaces="p1"),
    )
    assert states(rows) == {"p2": "active"}
    assert [row.publication_id for row in rows.all(CANDIDATES)] == ["p2"]


def test_an_emptied_slot_has_no_row() -> None:
    """Proves: PUB-03."""
    rows = folded(*candidate("p1"), *activation("p1", revision=1), *unpublish("u1", "p1", revision=2))
    assert (rows.all(BINDINGS), rows.all(CANDIDATES), rows.all(ASKS)) == ([], [], [])


@pytest.mark.parametrize(
    "end",
    [
        PublicationFailed(publication_id="p2", kind="state", reason="too late", faults=(), conflicts=(), at_ms=3_000),
        PublicationSuperseded(publication_id="p2", expected_revision=1, found_revision=2, at_ms=3_000),
    ],
    ids=["failed", "superseded"],
)
def test_a_candidate_that_comes_to_nothing_leaves_no_row(end: PublicationFailed | PublicationSuperseded) -> None:
    """Proves: PUB-13 (what it had prepared is removed, and what serves stays as it was)."""
    before = folded(*candidate("p1"), *prepared("p1"), *activation("p1", revision=1))
    after = folded(
        *candidate("p1"),
        *prepared("p1"),
        *activation("p1", revision=1),
        *candidate("p2", revision=1),
        *of_publication("p2", end),
    )
    assert after.digest(VIEW.tables) == before.digest(VIEW.tables)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    found = ViewReader(tmp_path, VIEW)
    yield found
    found.close()


def test_prepared_rows_are_seen_by_nobody_who_asks_for_authority(tmp_path: Path, reader: ViewReader) -> None:
    """Proves: PRJ-03."""

    async def main() -> None:
        journals = Journals()
        host = journals.host(VIEW, tmp_path)
        await host.start()
        index = SqliteTriggerIndex(reader)
        await journals.commit("publishing", *candidate("p1"))
        await live(host)
        assert index.authoritative(SHELL, PLACED) == ()
        assert [row.state for row in index.bindings("p1")] == ["prepared"]
        await journals.commit("publishing", *prepared("p1"), *activation("p1", revision=1))
        await live(host)
        (binding,) = index.authoritative(SHELL, PLACED)
        assert (binding.publication_id, binding.artifact_id, binding.node_id) == ("p1", "artifact-p1", "placed")
        assert index.authoritative(SHELL, "another identity") == ()
        assert index.authoritative("another shell", PLACED) == ()
        await host.close()

    run_virtual(main())


def test_the_holder_answers_again_until_its_answer_is_recorded_and_a_rebuild_only_what_is_pending(
    tmp_path: Path,
) -> None:
    """Proves: PRJ-02, PRJ-07."""

    async def main() -> None:
        journals = Journals()
        host = journals.host(VIEW, tmp_path)
        holder = TriggerIndexHolder(host)
        await journals.commit("publishing", *candidate("p1"))
        await journals.commit("publishing", *prepared("p1"), *activation("p1", revision=1))
        await journals.commit("publishing", *candidate("p2", revision=1))
        await host.start()
        asked_while_warming = 0
        while not host.caught_up:
            assert holder.pending_answers() == []
            asked_while_warming += 1
            await host.changed(1.0)
        assert asked_while_warming
        answer = ProjectionAnswered(shell=SHELL, publication_id="p2", kind="trigger-index", prepared=True)
        assert holder.pending_answers() == [answer]
        assert holder.pending_answers() == [answer]
        await host.rebuild()
        assert holder.pending_answers() == [answer]
        await journals.commit("publishing", *prepared("p2"))
        await live(host)
        assert holder.pending_answers() == []
        await host.rebuild()
        assert holder.pending_answers() == []
        await host.close()

    run_virtual(main())


def test_rows_that_nobody_can_read_prepare_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while the file can't be used, which passes, nor once somebody has deleted it.

    Proves: PRJ-07.
    """

    def away(*_: object) -> list[AskRow]:
        raise StoreAway("the disk is away")

    async def main() -> None:
        journals = Journals()
        host = journals.host(VIEW, tmp_path)
        holder = TriggerIndexHolder(host)
        await journals.commit("publishing", *candidate("p1"))
        await host.start()
        await live(host)
        with monkeypatch.context() as patched:
            patched.setattr(Store, "rows", away)
            assert holder.pending_answers() == []
        assert len(holder.pending_answers()) == 1
        ViewFiles(tmp_path, VIEW.name).remove(1)
        assert holder.pending_answers() == []
        await host.close()

    run_virtual(main())


def restated(publication_id: str, standing: Standing, *, awaited: bool = False) -> Change:
    """Its rows are stated, whatever they were."""
    staged = candidate(publication_id)[1].event
    assert isinstance(staged, PublicationStaged)
    event = ProjectionRepaired(
        reconciliation_id="pass",
        kind="trigger-index",
        publication_id=publication_id,
        standing=standing,
        shell=SHELL,
        definition_id="orders",
        slot_id=SLOT,
        revision=1,
        artifact_id=staged.artifact_id,
        bindings=staged.bindings if standing in ("prepared", "active") else (),
        awaited=awaited,
        deadline_ms=staged.deadline_ms if awaited else 0,
        holder="view",
        position=1,
        missing=1,
        foreign=0,
        flipped=0,
        changed=0,
        requested_by="",
        at_ms=5_000,
    )
    return Change("reconciliation:pass", event)


@pytest.mark.parametrize(
    ("before", "standing", "awaited"),
    [
        ([*candidate("p1"), *prepared("p1"), *activation("p1", revision=1)], "active", False),
        ([*candidate("p1")], "prepared", True),
        ([*candidate("p1"), *prepared("p1")], "prepared", False),
        ([*candidate("p2")], "gone", False),
    ],
    ids=["active", "awaited", "prepared", "gone"],
)
def test_a_repair_changes_no_row_that_is_right_so_that_a_replay_gives_the_same(
    before: list[Change], standing: Standing, awaited: bool
) -> None:
    """Proves: PRJ-02, PRJ-05."""
    repair = restated("p1", standing, awaited=awaited)
    assert folded(*before, repair).digest(VIEW.tables) == folded(*before).digest(VIEW.tables)


def test_a_repair_makes_the_rows_of_a_publication_whatever_they_were() -> None:
    """Proves: PRJ-05."""
    right = folded(*candidate("p1"), *prepared("p1"), *activation("p1", revision=1))
    (binding,) = right.all(BINDINGS)
    lost, flipped, doubled = MemoryRows(), MemoryRows(), MemoryRows()
    flipped.put(BINDINGS, binding._replace(state="prepared"))
    doubled.put(BINDINGS, binding)
    doubled.put(BINDINGS, binding._replace(binding_id="another"))
    for rows in (lost, flipped, doubled):
        (event,) = recorded(restated("p1", "active"))
        fold(event, rows)
        assert rows.digest(VIEW.tables) == right.digest(VIEW.tables)
