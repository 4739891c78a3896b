"""What a pass compares, and with what: the slots at exactly the position of the rows."""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from interlock.domain.decider import Change
from interlock.domain.messages import RepairProjection
from interlock.domain.publishing.publication.events import (
    PublicationFailed,
    PublicationRequested,
    PublicationRetired,
)
from interlock.domain.publishing.reconciliation.called import Called, called_for
from interlock.domain.publishing.reference.events import SourceReferenceCreated
from interlock.log.frame import Entry
from interlock.log.port import LogError
from interlock.processors.leisure import Leisure
from interlock.processors.mail import Unfoldable
from interlock.processors.reconciler import CannotCompare, Held, Outcome, Reconciler
from interlock.processors.truth import Truth
from interlock.projections.compare import KeyedRow
from tests.projections.journals import CODEC, Journals
from tests.projections.stories import activation, candidate, of_publication, prepared


class Rows:
    """A copy whose rows a test decides: one row a publication, with its standing."""

    kind = "trigger-index"

    def __init__(self, name: str, position: int, standings: dict[str, str]) -> None:
        self.name = name
        self.position = position
        self.standings = standings

    async def held(self) -> Held:
        return Held(self.position, {one: [KeyedRow((one,), (state,))] for one, state in self.standings.items()})

    def called(self, called: Called) -> list[KeyedRow]:
        gone = called.standing == "gone"
        return [] if gone else [KeyedRow((called.publication_id,), (called.standing,))]


class Absent(Rows):
    """One that can't be read."""

    async def held(self) -> Held:
        raise CannotCompare("warming up", "nobody fills it")


class Publishing:
    """Answers what it is told to."""

    def __init__(self, outcome: Outcome = "repaired") -> None:
        self.asked: list[RepairProjection] = []
        self._outcome: Outcome = outcome

    async def ask(self, message: RepairProjection) -> tuple[Outcome, str]:
        self.asked.append(message)
        return self._outcome, ""


def over(journals: Journals, publishing: Publishing, copies: Sequence[Rows]) -> Reconciler:
    truth = Truth(journals.log, journals.shard("publishing"), CODEC, wait_s=0.01)
    ids = (f"id-{number}" for number in itertools.count(1))
    return Reconciler(truth, copies, publishing.ask, lambda: next(ids))


async def story(journals: Journals) -> list[int]:
    """p1 is active, p2 its successor; the position of each step: staged, active, staged, prepared, active."""
    steps = (
        candidate("p1"),
        activation("p1", revision=1),
        candidate("p2", revision=1),
        prepared("p2"),
        activation("p2", revision=2, replaces="p1"),
    )
    return [(await journals.commit("publishing", *step)).frame.number for step in steps]


RIGHT: tuple[dict[str, str], ...] = (
    {"p1": "prepared"},
    {"p1": "active"},
    {"p1": "active", "p2": "prepared"},
    {"p1": "active", "p2": "prepared"},
    {"p2": "active"},
)


@pytest.mark.parametrize("step", range(5))
async def test_rows_that_are_right_where_they_are_only_lag(step: int) -> None:
    """Proves: PRJ-05 (never repairs a candidate between prepare and activation, or a view behind the slots)."""
    journals, publishing = Journals(), Publishing()
    position = (await story(journals))[step]
    found = await over(journals, publishing, [Rows("view", position, RIGHT[step])]).sweep()
    assert [copy.state for copy in found.copies] == ["compared"]
    assert (found.findings, publishing.asked) == ((), [])


@pytest.mark.parametrize("step", range(4))
async def test_the_rows_of_an_earlier_step_are_wrong_at_the_end(step: int) -> None:
    journals, publishing = Journals(), Publishing()
    end = (await story(journals))[-1]
    found = await over(journals, publishing, [Rows("view", end, RIGHT[step])]).sweep(requested_by="ada")
    assert found.rows == len(found.findings) == len({"p1", "p2"} & {*RIGHT[step], "p2"})
    asked = {message.publication_id: message for message in publishing.asked}
    assert (asked["p1"].standing, asked["p1"].revision, asked["p1"].foreign) == ("gone", 0, 1)
    assert (asked["p2"].standing, asked["p2"].revision) == ("active", 2)
    assert {(message.position, message.requested_by) for message in publishing.asked} == {(end, "ada")}


async def test_publishing_is_asked_in_the_shell_of_the_slot() -> None:
    """Proves: PRJ-05, PUB-01."""
    journals, publishing = Journals(), Publishing()
    requested, *rest = candidate("p1")
    assert isinstance(requested.event, PublicationRequested)
    elsewhere = replace(requested, event=replace(requested.event, shell="elsewhere"))
    position = (await journals.commit("publishing", elsewhere, *rest)).frame.number
    await over(journals, publishing, [Rows("view", position, {"p1": "active"})]).sweep()
    assert [(message.publication_id, message.shell) for message in publishing.asked] == [("p1", "elsewhere")]


async def test_copies_at_different_positions_are_each_compared_at_their_own() -> None:
    journals, publishing = Journals(), Publishing()
    positions = await story(journals)
    copies = [Rows("ahead", positions[4], RIGHT[4]), Rows("behind", positions[1], RIGHT[1])]
    found = await over(journals, publishing, copies).sweep()
    assert [(copy.holder, copy.state) for copy in found.copies] == [("behind", "compared"), ("ahead", "compared")]
    assert found.findings == ()


async def test_a_copy_that_falls_back_behind_what_was_compared_is_waited_for() -> None:
    journals, publishing = Journals(), Publishing()
    positions = await story(journals)
    view = Rows("view", positions[4], RIGHT[4])
    reconciler = over(journals, publishing, [view])
    await reconciler.sweep()
    view.position, view.standings = positions[1], {}
    (copy,) = (await reconciler.sweep()).copies
    assert (copy.state, copy.position, publishing.asked) == ("behind", positions[1], [])


async def test_a_copy_that_can_not_be_read_is_told_and_holds_up_no_other() -> None:
    journals, publishing = Journals(), Publishing()
    positions = await story(journals)
    found = await over(journals, publishing, [Absent("view", 0, {}), Rows("replica", positions[4], {})]).sweep()
    assert [(copy.holder, copy.state) for copy in found.copies] == [("view", "warming up"), ("replica", "compared")]
    assert [message.publication_id for message in publishing.asked] == ["p2"]


async def test_rows_of_a_candidate_that_has_failed_and_of_one_that_never_was_are_foreign() -> None:
    """Proves: PRJ-05 (orphaned prepared rows)."""
    journals, publishing = Journals(), Publishing()
    failed = PublicationFailed(
        publication_id="p1", kind="state", reason="too late", faults=(), conflicts=(), at_ms=3_000
    )
    end = await journals.commit("publishing", *candidate("p1"), *of_publication("p1", failed))
    orphans = {"p1": "prepared", "stranger": "active"}
    found = await over(journals, publishing, [Rows("view", end.frame.number, orphans)]).sweep()
    assert [(one.publication_id, one.standing, one.foreign) for one in found.findings] == [
        ("p1", "gone", 1),
        ("stranger", "gone", 1),
    ]


async def test_visibility_that_is_all_that_differs_is_told_as_such() -> None:
    journals, publishing = Journals(), Publishing()
    end = (await story(journals))[-1]
    found = await over(journals, publishing, [Rows("view", end, {"p2": "prepared"})]).sweep()
    assert [(one.flipped, one.changed) for one in found.findings] == [(1, 0)]


async def test_a_dry_run_asks_for_nothing() -> None:
    journals, publishing = Journals(), Publishing()
    end = (await story(journals))[-1]
    found = await over(journals, publishing, [Rows("view", end, {})]).sweep(repair=False)
    assert ([one.outcome for one in found.findings], found.reconciliation_id) == (["found"], "")
    assert publishing.asked == []


async def test_every_repair_of_a_pass_carries_its_id_and_one_of_its_own() -> None:
    journals, publishing = Journals(), Publishing("refused")
    end = (await story(journals))[-1]
    reconciler = over(journals, publishing, [Rows("view", end, {f"x{number}": "active" for number in range(120)})])
    found = await reconciler.sweep()
    assert {one.outcome for one in found.findings} == {"refused"}
    assert {message.reconciliation_id for message in publishing.asked} == {found.reconciliation_id}
    assert len({message.command_id for message in publishing.asked}) == len(publishing.asked) == 121
    assert reconciler.sweeps == 1
    assert {how: rows for (_, how), rows in reconciler.drift.items()} == {
        "missing": 1,
        "foreign": 120,
        "flipped": 0,
        "changed": 0,
    }


async def test_rows_from_beyond_the_end_of_the_journal_are_refused() -> None:
    journals = Journals()
    end = (await story(journals))[-1]
    with pytest.raises(LogError, match="expected append"):
        await over(journals, Publishing(), [Rows("view", end + 1, RIGHT[4])]).sweep()


async def test_what_comes_late_for_a_publication_that_has_ended_is_passed_over() -> None:
    journals = Journals()
    await story(journals)
    retired = PublicationRetired(publication_id="p1", replaced_by="p2", at_ms=3_000)
    end = await journals.commit("publishing", *of_publication("p1", retired))
    truth = Truth(journals.log, journals.shard("publishing"), CODEC, wait_s=0.01)
    await truth.advance(end.frame.number)
    assert set(truth.shard.publications) == {"p2"}


async def test_what_calls_for_no_rows_takes_no_memory() -> None:
    journals = Journals()
    await story(journals)
    created = SourceReferenceCreated(
        reference_id="r2",
        kind="published",
        publication_id="p2",
        slot_id="s",
        shell="default",
        definition_id="orders",
        definition_version="1",
        artifact_id="a",
        at_ms=3_000,
    )
    end = await journals.commit("publishing", Change("source-reference:r2", created))
    truth = Truth(journals.log, journals.shard("publishing"), CODEC, wait_s=0.01)
    await truth.advance(end.frame.number)
    shard = truth.shard
    assert (shard.references, shard.selected, shard.ledgers, shard.executables) == ({}, {}, {}, set())
    assert called_for(shard, "p2").standing == "active"


async def test_what_calls_for_no_rows_is_passed_over_unread_and_what_nobody_knows_is_not() -> None:
    journals = Journals()
    await story(journals)
    headers = (("revision", b"9"), ("time", b"0"))
    unread = Entry("event", b"publication:p2", b"no event", (("type", b"publishing.RoutingShardReached"), *headers))
    unknown = Entry("event", b"publication:p2", b"no event", (("type", b"publishing.SomethingNew"), *headers))
    shard = journals.shard("publishing")
    truth = Truth(journals.log, shard, CODEC, wait_s=0.01)
    await journals.raw(shard, [unread])
    after = await journals.commit("publishing", *prepared("p3"))
    await truth.advance(after.frame.number)
    assert called_for(truth.shard, "p2").standing == "active"
    await journals.raw(shard, [unknown])
    end = await journals.commit("publishing", *prepared("p3"))
    for _ in range(2):
        with pytest.raises(Unfoldable):
            await truth.advance(end.frame.number)
    assert truth.position == after.frame.number


async def test_a_pass_that_is_called_off_within_an_append_leaves_the_rest_of_it_to_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journals = Journals()
    end = await journals.commit(
        "publishing", *candidate("p1"), *activation("p1", revision=1), *candidate("p2", revision=1)
    )
    truth = Truth(journals.log, journals.shard("publishing"), CODEC, wait_s=0.01)

    async def called_off(_: Leisure) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Leisure, "due", True)
    monkeypatch.setattr(Leisure, "rest", called_off)
    publications: list[int] = []
    while truth.position < end.frame.number:
        with suppress(asyncio.CancelledError):
            await truth.advance(end.frame.number)
        publications.append(len(truth.shard.publications))
    assert publications == sorted(publications)
    assert {0, *publications} == {0, 1, 2}
    assert [called_for(truth.shard, each).standing for each in ("p1", "p2")] == ["active", "prepared"]
