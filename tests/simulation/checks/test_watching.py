"""Rules that are seen from within the engine only: what owners hold, what writers and readers are told, what is sent.

Each is broken by a fault that is put into the engine, or by a hand that changes what it keeps.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing, suppress
from typing import Any

import pytest

from interlock.domain.executions.execution.events import BookmarkCreated
from interlock.domain.executions.shard import ExecutionsShard
from interlock.log.faults import ScriptedFaults, SendOutcome
from interlock.log.frame import Append
from interlock.log.journal import Journal, JournalReader, Lost, Rule
from interlock.log.memory import MemoryLog
from interlock.log.port import Record, Refused
from interlock.processors.executions.handler import ExecutionsHandler
from interlock.processors.ownership import Ownership
from interlock.projections.rows import Rows
from interlock.projections.trigger_index import fold
from interlock.projections.trigger_index.store import ASKS
from interlock.testing.virtual_time import run_virtual
from tests.simulation.checks import Violation
from tests.simulation.checks.judge import Judge
from tests.simulation.checks.story import CODEC, TOPICS, Decided, Landed, Stage, Story
from tests.simulation.checks.tape import BEGINNING
from tests.simulation.checks.telling import Teller, live

pytestmark = pytest.mark.simulation
HOME = ("publishing", 0)
JOURNAL = TOPICS.journal(*HOME)
NOTE = CODEC.encode(BEGINNING)


def test_a_true_run_breaks_no_rule() -> None:
    """And the judge has looked at owners and views, not past them."""
    compared: list[int] = []
    assert live(lambda _, judge: compared.extend((judge.shadows.compared, judge.rows.compared))) == ""
    assert min(compared) >= 5


# ---- what owners hold ---------------------------------------------------------------------------------------------


def test_state_that_differs_from_the_log_is_found_at_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = ExecutionsHandler.apply

    def forgetful(self: ExecutionsHandler, stream: str, event: object) -> None:
        if not isinstance(event, BookmarkCreated):
            apply(self, stream, event)

    monkeypatch.setattr(ExecutionsHandler, "apply", forgetful)
    assert live() == "state-differs"


def test_a_timer_that_is_not_in_the_index_is_found_at_the_takeover(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: ExecutionsShard, execution_id: str, state: object) -> None:
        return

    monkeypatch.setattr(ExecutionsShard, "_index_due", forgetful)
    assert live() == "timer-index"


def test_revisions_that_a_new_owner_does_not_know_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fold_append = Ownership.fold

    def forgetful(self: Ownership, append: Append) -> None:
        fold_append(self, append)
        vars(self)["_book"].revisions.clear()

    monkeypatch.setattr(Ownership, "fold", forgetful)
    assert live() == "revisions-differ"


# ---- views --------------------------------------------------------------------------------------------------------


def by_hand(view: str, statement: str) -> Callable[[Teller, Judge], None]:
    """Changes the file of a view."""

    def change(teller: Teller, judge: Judge) -> None:
        with closing(sqlite3.connect(teller.views / f"{view}.sqlite")) as connection, connection:
            assert connection.execute(statement).rowcount > 0

    return change


@pytest.mark.parametrize(
    ("view", "statement", "rule"),
    [
        ("trigger-index", "UPDATE bindings SET state = 'prepared'", "rows-differ"),
        ("executions", "UPDATE _positions SET number = number - 1", "view-falls"),
        ("trigger-index", "UPDATE _positions SET number = number + 1", "rows-ahead"),
        ("trigger-index", "UPDATE _view SET error = 'no longer'", "view-stopped"),
    ],
)
def test_a_view_that_is_not_a_fold_of_its_journals_is_found(view: str, statement: str, rule: str) -> None:
    """Proves: PRJ-04."""
    assert live(by_hand(view, statement)) == rule


def test_rows_of_a_publication_that_is_over_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge folds views with the engine's own folds, so a fold that is wrong is held against authority itself."""

    def careless(publication_id: str, rows: Rows) -> None:
        rows.delete(ASKS, publication_id, fold.KIND)

    monkeypatch.setattr(fold, "_remove", careless)
    assert live() == "orphaned-row"


# ---- what writers and readers are told ----------------------------------------------------------------------------


async def _two_writers(judge: Judge, stage: Stage) -> None:
    """The first one's append lands late, behind the opening of the second; the first is told where it landed."""
    ids = iter(f"{number:032x}" for number in range(99))
    faults = ScriptedFaults()
    slow = MemoryLog(stage.broker, faults=faults)
    first = await _opened(slow, ids.__next__)
    faults.next_sends(SendOutcome(landings_s=(1.0,)))
    with judge.watching():
        appending = asyncio.create_task(first.append(NOTE))
        await asyncio.sleep(0.1)
        await _opened(stage.log, ids.__next__)
        await asyncio.gather(appending, return_exceptions=True)
        await judge.look()


async def _opened(log: MemoryLog, ids: Callable[[], str]) -> Journal:
    async def assigned() -> bool:
        return True

    return await Journal.open(log, JOURNAL, ids=ids, fold=lambda _: None, note=lambda: NOTE, still_assigned=assigned)


async def _one_writer(judge: Judge, stage: Stage) -> None:
    """A journal is opened, and something appended."""
    ids = iter(f"{number:032x}" for number in range(99))
    with judge.watching():
        journal = await _opened(stage.log, ids.__next__)
        with suppress(Refused, Lost):
            await journal.append(NOTE)
        await _opened(stage.log, ids.__next__)
        await judge.look()


def broken(happen: Callable[[Judge, Stage], Coroutine[object, object, None]]) -> str:
    """The rule that is broken while something happens."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        try:
            await happen(judge, stage)
        except Violation as violation:
            return violation.rule
        return ""

    return run_virtual(run())


@pytest.mark.parametrize("happen", [_two_writers, _one_writer])
def test_writers_who_are_told_the_truth_break_no_rule(
    happen: Callable[[Judge, Stage], Coroutine[object, object, None]],
) -> None:
    assert broken(happen) == ""


def test_an_append_that_was_acknowledged_and_is_void_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: OWN-01."""

    async def trusting(self: Journal, frame: object, base: int) -> int:
        return base

    monkeypatch.setattr(Journal, "_settle", trusting)
    assert broken(_two_writers) == "acknowledged-void"


def _after_append(monkeypatch: pytest.MonkeyPatch, change: Callable[[Append], Append]) -> None:
    append = Journal.append

    async def changed(self: Journal, *args: Any) -> Append:
        return change(await append(self, *args))

    monkeypatch.setattr(Journal, "append", changed)


def test_an_append_that_was_acknowledged_at_another_offset_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(append: Append) -> Append:
        return Append(append.frame, append.note, append.base + 1, append.time_ms, append.entries)

    _after_append(monkeypatch, elsewhere)
    assert broken(_one_writer) == "acknowledged-elsewhere"


def test_an_append_that_was_refused_and_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(append: Append) -> Append:
        raise Refused("expected to write, found that nobody wants it")

    _after_append(monkeypatch, refused)
    assert broken(_one_writer) == "denied-counted"


def test_an_ownership_that_was_lost_to_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(self: Journal, *args: Any) -> Append:
        raise Lost("expected to be the last, found nobody")

    monkeypatch.setattr(Journal, "append", lost)
    assert broken(_one_writer) == "lost-to-nobody"


def _with_void_appends(story: Story) -> str:
    """The rule that is broken where every append lands twice, of which the second is void."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        try:
            for step in story.steps:
                if isinstance(step, Decided):
                    stage.now_ms = step.at_ms
                    batch = stage.batch(step)
                    stage.land(TOPICS.journal(*step.home), batch)
                    stage.land(TOPICS.journal(*step.home), batch)
                else:
                    stage.play(step)
                await judge.look()
        except Violation as violation:
            return violation.rule
        return ""

    return run_virtual(run())


def test_what_is_void_breaks_no_rule(story: Story) -> None:
    assert _with_void_appends(story.copy()) == ""


def test_a_reader_that_takes_what_is_void_is_found(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: OWN-01."""

    def credulous(self: Rule, append: Append) -> Append:
        return append

    monkeypatch.setattr(Rule, "_judge", credulous)
    assert _with_void_appends(story.copy()) == "reader-differs"


def test_a_reader_of_the_engine_that_leaves_something_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    read = JournalReader.read
    calls: list[int] = []

    async def forgetful(self: JournalReader, wait_s: float) -> list[Append]:
        appends = await read(self, wait_s)
        calls.append(len(appends))
        return appends[1:] if len(calls) == 9 else appends

    monkeypatch.setattr(JournalReader, "read", forgetful)
    assert live() == "reader-differs"


def test_a_reader_that_stops_is_found(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stops(self: JournalReader, wait_s: float) -> list[Append]:
        raise RuntimeError("expected to read, found no way")

    monkeypatch.setattr(JournalReader, "read", stops)
    assert _with_void_appends(story.copy()) == "reader-stops"


def test_a_journal_that_is_trimmed_under_the_judge_is_found(story: Story) -> None:
    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        stage.play(next(step for step in story.steps if isinstance(step, Decided)))
        for home in judge.tapes.journals:
            shard = TOPICS.journal(*home)
            stage.broker.trim(shard, stage.broker.partition(shard).extent.end)
        try:
            await judge.look()
        except Violation as violation:
            return violation.rule
        return ""

    assert run_virtual(run()) == "trimmed"


# ---- what is sent -------------------------------------------------------------------------------------------------


def _sends(story: Story, choose: Callable[[Landed], Sequence[Record]]) -> str:
    """The rule that is broken where, before the first batch of promises lands, another is sent."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        for step in story.steps:
            await judge.look()
            if isinstance(step, Landed) and step.shard in judge.tapes.inbox_of and step.shard != TOPICS.inbox(*HOME):
                try:
                    judge.deliveries.sending(step.shard, choose(step))
                except Violation as violation:
                    return violation.rule
                return ""
            stage.play(step)
        return "nothing was sent"

    return run_virtual(run())


def _numbered(record: Record, number: int) -> Record:
    headers = tuple((key, b"%d" % number if key == "number" else old) for key, old in record.headers)
    return Record(record.key, record.value, headers)


def test_what_is_sent_in_order_breaks_no_rule(story: Story) -> None:
    assert _sends(story, lambda step: step.records) == ""


def test_a_promise_that_is_sent_before_its_append_is_found(story: Story) -> None:
    assert _sends(story, lambda step: [_numbered(step.records[0], 2)]) == "delivered-before-append"


def test_promises_that_are_sent_out_of_order_are_found(story: Story) -> None:
    assert _sends(story, lambda step: [_numbered(step.records[0], n) for n in (2, 1)]) == "sent-out-of-order"


def test_an_answer_that_is_sent_before_its_append_is_found(story: Story) -> None:
    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        answer = next(step for step in story.steps if isinstance(step, Landed) and step.shard == TOPICS.user("replies"))
        try:
            judge.deliveries.sending(answer.shard, answer.records)
        except Violation as violation:
            return violation.rule
        return ""

    assert run_virtual(run()) == "delivered-before-append"


def test_the_next_promise_that_is_sent_while_one_is_in_doubt_is_found(story: Story) -> None:
    """Every batch of promises is sent, and the log says nothing of any: the second must not go on behind the first."""

    async def run() -> str:
        stage = Stage()
        judge = stage.judge()
        for step in story.steps:
            await judge.look()
            if isinstance(step, Landed) and source_of_first(step) and step.shard in judge.tapes.inbox_of:
                try:
                    judge.deliveries.sending(step.shard, step.records)
                except Violation as violation:
                    return violation.rule
            stage.play(step)
        return ""

    assert run_virtual(run()) == "sent-past-doubt"


def source_of_first(step: Landed) -> str:
    """Where its first record comes from."""
    return dict(step.records[0].headers).get("source", b"").decode()
