"""What slots and publications tell, and what a pending one waits for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.domain.decider import Change
from interlock.domain.publishing.publication.events import (
    ProjectionAskedAgain,
    PublicationFailed,
    PublicationServed,
    PublicationSuperseded,
    RoutingShardReached,
)
from interlock.domain.publishing.reference.events import SourceReferenceCreated, SourceReferenceRetired
from interlock.domain.publishing.slot.events import SlotActivated
from interlock.domain.publishing.unpublish.events import (
    UnpublishServed,
    UnpublishShardReached,
    UnpublishSuperseded,
)
from interlock.domain.sharding import slot_id
from interlock.projections.reader import ViewReader
from interlock.projections.rows import MemoryRows
from interlock.projections.slots.fold import VIEW, fold
from interlock.projections.slots.intents import INTENTS
from interlock.projections.slots.query import PublicationView, SqliteSlots, cursor_of, slot_cursor_of
from interlock.projections.slots.references import REFERENCES
from interlock.projections.slots.store import PUBLICATIONS, SLOTS, SlotRow
from interlock.projections.slots.unpublishes import UNPUBLISHES
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, recorded
from tests.projections.stories import SHELL, SLOT, activation, candidate, of_publication, prepared, unpublish

FAILED = PublicationFailed(publication_id="p1", kind="state", reason="too late", faults=(), conflicts=(), at_ms=3_000)


def folded(*changes: Change) -> MemoryRows:
    rows = MemoryRows()
    for each in recorded(*changes):
        fold(each, rows)
    return rows


def test_a_slot_names_its_authority_and_its_revision() -> None:
    rows = folded(
        *candidate("p1"),
        *activation("p1", revision=1),
        *candidate("p2", revision=1),
        *activation("p2", revision=2, replaces="p1"),
    )
    assert rows.all(SLOTS) == [
        SlotRow(
            slot_id=SLOT,
            shell=SHELL,
            definition_id="orders",
            name="main",
            revision=2,
            publication_id="p2",
            activated_at_ms=2_002,
        )
    ]
    one, two = rows.all(PUBLICATIONS)
    assert (one.status, one.replaced_by, one.ended_at_ms) == ("retired", "p2", 2_002)
    assert (two.status, two.revision, two.position, two.ended_at_ms) == ("active", 2, 3, None)


def test_what_failed_says_why_and_what_was_superseded_to_what_it_lost() -> None:
    rows = folded(
        *candidate("p1"),
        *of_publication(
            "p1",
            PublicationFailed(
                publication_id="p1", kind="state", reason="too late", faults=(), conflicts=(), at_ms=3_000
            ),
        ),
        *candidate("p2"),
        *of_publication(
            "p2", PublicationSuperseded(publication_id="p2", expected_revision=0, found_revision=4, at_ms=3_001)
        ),
    )
    one, two = rows.all(PUBLICATIONS)
    assert (one.status, one.reason, one.ended_at_ms) == ("failed", "too late", 3_000)
    assert (two.status, two.expected_revision, two.found_revision) == ("superseded", 0, 4)


def test_a_slot_that_is_emptied_keeps_its_revision_and_names_nobody() -> None:
    before = [*candidate("p1"), *activation("p1", revision=1)]
    rows = folded(*before, *unpublish("u1", "p1", revision=2))
    (slot,) = rows.all(SLOTS)
    assert (slot.publication_id, slot.revision, slot.activated_at_ms, slot.emptied_at_ms) == ("", 2, 2_001, 3_000)
    (publication,) = rows.all(PUBLICATIONS)
    assert (publication.status, publication.replaced_by, publication.unpublish_id) == ("retired", "", "u1")
    (row,) = rows.all(UNPUBLISHES)
    assert (row.status, row.publication_id, row.served_at_ms) == ("unpublished", "p1", None)
    filled = folded(*before, *unpublish("u1", "p1", revision=2), *candidate("p2"), *activation("p2", revision=3))
    (slot,) = filled.all(SLOTS)
    assert (slot.publication_id, slot.revision, slot.emptied_at_ms) == ("p2", 3, None)


def test_an_unpublish_that_lost_is_kept_with_what_it_lost_to() -> None:
    event = UnpublishSuperseded(
        unpublish_id="u1",
        command_id="c",
        shell=SHELL,
        definition_id="orders",
        slot_id=SLOT,
        slot_name="main",
        policy_source="host",
        expected_revision=1,
        found_revision=4,
        requested_by="ada",
        requested_at_ms=1,
        at_ms=2,
    )
    (row,) = folded(Change("unpublish:u1", event)).all(UNPUBLISHES)
    assert (row.status, row.expected_revision, row.found_revision) == ("superseded", 1, 4)


def test_what_is_wanted_of_a_view_is_kept_by_publication_kind_and_operation() -> None:
    """Proves: PRJ-01, PRJ-02"""
    again = ProjectionAskedAgain(
        publication_id="p1", kind="trigger-index", attempt=2, deadline_ms=60_000, ask_again_ms=9_000, at_ms=6_000
    )
    story = [*candidate("p1"), *of_publication("p1", again)]

    def intents(*changes: Change) -> list[tuple[str, int, int | None, str]]:
        rows = folded(*changes).all(INTENTS)
        return [(row.operation, row.attempts, row.delivered_at_ms, row.diagnostic) for row in rows]

    assert intents(*story) == [("prepare", 2, None, "")]
    assert intents(*story, *of_publication("p1", FAILED)) == [("prepare", 2, None, "too late"), ("remove", 1, None, "")]
    whole = [*story, *prepared("p1"), *activation("p1", revision=1), *unpublish("u1", "p1", revision=2)]
    assert intents(*whole) == [("activate", 1, None, ""), ("prepare", 2, 1_002, ""), ("retire", 1, None, "")]


def test_a_source_reference_is_kept_with_its_retirement() -> None:
    """Proves: PUB-17"""
    created = SourceReferenceCreated(
        reference_id="r1",
        kind="published",
        publication_id="p1",
        slot_id=SLOT,
        shell=SHELL,
        definition_id="orders",
        definition_version="v1",
        artifact_id="artifact-p1",
        at_ms=2_001,
    )
    (row,) = folded(Change("source-reference:r1", created)).all(REFERENCES)
    assert (row.artifact_id, row.created_at_ms, row.retired_at_ms) == ("artifact-p1", 2_001, None)
    retired = SourceReferenceRetired(reference_id="r1", at_ms=3_000)
    (row,) = folded(*(Change("source-reference:r1", event) for event in (created, retired))).all(REFERENCES)
    assert row.retired_at_ms == 3_000


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[ViewReader]:
    found = ViewReader(tmp_path, VIEW)
    yield found
    found.close()


def test_a_pending_publication_tells_what_is_missing(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals()
        host = journals.host(VIEW, tmp_path)
        await host.start()
        slots = SqliteSlots(reader)

        async def after(*changes: Change) -> PublicationView:
            append = await journals.commit("publishing", *changes)
            assert await host.reached({journals.shard("publishing"): append.frame.number}, 60.0)
            found = slots.publication("p1")
            assert found is not None
            return found

        while not host.caught_up:
            await host.changed(1.0)
        assert slots.slots(SHELL) == ()
        assert slots.publication("p1") is None
        staged = await after(*candidate("p1"))
        assert (staged.pending, staged.missing_projections, staged.missing_shards) == (True, ("trigger-index",), ())
        ready = await after(*prepared("p1"))
        assert (ready.pending, ready.missing_projections) == (True, ())
        activated = await after(*activation("p1", revision=1))
        assert (activated.pending, activated.missing_shards) == (True, (0, 1))
        reached = await after(*of_publication("p1", RoutingShardReached(publication_id="p1", partition=1)))
        assert (reached.pending, reached.reached_shards, reached.missing_shards) == (True, (1,), (0,))
        served = await after(*of_publication("p1", PublicationServed(publication_id="p1", at_ms=4_000)))
        assert (served.pending, served.missing_shards, served.publication.served_at_ms) == (False, (), 4_000)
        slot = slots.slot(SHELL, "orders", "main")
        assert slot is not None
        assert slot.authority == served
        assert slots.slot(SHELL, "orders", "other") is None
        emptied = await after(*unpublish("u1", "p1", revision=2))
        assert emptied.unpublish is not None
        assert (emptied.pending, emptied.unpublish.missing_shards) == (True, (0, 1))
        said = [UnpublishShardReached(unpublish_id="u1", partition=partition) for partition in (0, 1)]
        done = await after(*(Change("unpublish:u1", event) for event in said))
        assert done.unpublish is not None
        assert (done.pending, done.unpublish.missing_shards) == (True, ())
        answered = await after(Change("unpublish:u1", UnpublishServed(unpublish_id="u1", at_ms=5_000)))
        assert not answered.pending
        slot = slots.slot(SHELL, "orders", "main")
        assert slot is not None
        assert slot.authority is None
        await host.close()

    run_virtual(main())


def test_slots_are_listed_by_their_names_in_pages(tmp_path: Path, reader: ViewReader) -> None:
    """Whatever happens to a slot that is known meanwhile, each one is met once."""

    async def main() -> None:
        journals = Journals()
        host = journals.host(VIEW, tmp_path)
        await host.start()
        slots = SqliteSlots(reader)

        async def active(publication_id: str, definition_id: str, slot_name: str, revision: int = 1) -> None:
            activated = SlotActivated(
                slot_id=slot_id(SHELL, definition_id, slot_name),
                shell=SHELL,
                definition_id=definition_id,
                name=slot_name,
                publication_id=publication_id,
                replaced_publication_id="",
                revision=revision,
                at_ms=2_000 + revision,
            )
            append = await journals.commit("publishing", Change(f"slot:{activated.slot_id}", activated))
            assert await host.reached({journals.shard("publishing"): append.frame.number}, 60.0)

        names = [("a", "z"), ("b", "blue"), ("b", "main"), ("b/c", "a"), ("c", "main")]
        for number, (definition_id, slot_name) in enumerate(reversed(names)):
            await active(f"p{number}", definition_id, slot_name)
        first = slots.slots(SHELL, limit=2)
        assert [(each.definition_id, each.name) for each in first] == names[:2]
        await active("again", "b", "blue", revision=2)
        rest = slots.slots(SHELL, after=slot_cursor_of(first[-1]), limit=50)
        assert [(each.definition_id, each.name) for each in rest] == names[2:]
        assert [each.name for each in slots.slots(SHELL, definition_id="b")] == ["blue", "main"]
        assert slots.slots("another") == ()
        with pytest.raises(KeyError, match="cursor of a slot"):
            slots.slots("another", after=slot_cursor_of(first[-1]))
        await host.close()

    run_virtual(main())


def test_publications_are_listed_newest_first_in_pages(tmp_path: Path, reader: ViewReader) -> None:
    async def main() -> None:
        journals = Journals()
        for number in range(5):
            await journals.commit("publishing", *candidate(f"p{number}", revision=number))
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        slots = SqliteSlots(reader)
        page = slots.publications(SHELL, limit=2)
        found = list(page)
        while page:
            page = slots.publications(SHELL, after=cursor_of(page[-1]), limit=2)
            found += page
        assert [row.publication_id for row in found] == ["p4", "p3", "p2", "p1", "p0"]
        assert slots.publications(SHELL, status="active") == ()
        assert len(slots.publications(SHELL, slot=SLOT, definition_id="orders", status="pending-projection")) == 5
        with pytest.raises(ValueError, match="expected a limit of at least 1"):
            slots.publications(SHELL, limit=0)
        await host.close()

    run_virtual(main())
