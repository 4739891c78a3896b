"""B5: however many processes fold a publication, and however often its records are in the log, it has one row."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.log.faults import SEEN, AskOutcome, SendOutcome, lands_twice
from interlock.log.memory import MemoryLog
from interlock.log.port import Record, Shard
from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.fold import VIEW
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from interlock.testing import Rehearsal
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import Journals, live, projecting
from tests.projections.stories import PLACED, SHELL, activation, candidate, prepared
from tests.support import errands

pytestmark = pytest.mark.cases


class Twice:
    """Every batch lands twice."""

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        """At once, and again."""
        return lands_twice()

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Nothing is wrong."""
        return SEEN


def test_three_replicas_of_records_that_are_there_twice_have_one_row_each(tmp_path: Path) -> None:
    """Proves: PRJ-02, PRJ-06, TRG-05."""

    async def main() -> None:
        once, twice = Journals(), Journals()
        twice.log = MemoryLog(twice.broker, faults=Twice())
        for journals in (once, twice):
            await journals.commit("publishing", *candidate("p1"))
            await journals.commit("publishing", *prepared("p1"))
            await journals.commit("publishing", *activation("p1", revision=1))
        journal = once.shard("publishing")
        assert await twice.log.end(journal) == 2 * await once.log.end(journal)
        async with projecting(once, tmp_path / "once", VIEW) as host:
            await live(host)
            expected = host.digest()
        for replica in ("a", "b", "c"):
            async with projecting(twice, tmp_path / replica, VIEW) as host:
                await live(host)
                assert host.digest() == expected
                await host.drop()  # and from the beginning once more
                await live(host)
                assert host.digest() == expected
            reader = ViewReader(tmp_path / replica, VIEW)
            index = SqliteTriggerIndex(reader)
            [row] = index.authoritative(SHELL, PLACED)
            assert (row.publication_id, index.bindings("p1")) == ("p1", (row,))
            reader.close()

    run_virtual(main())


def test_the_same_definition_from_several_nodes_is_one_binding_at_a_time() -> None:
    """Proves: PUB-02, PUB-06."""
    with Rehearsal(errands) as stage:
        published = [stage.publish("tests.support.errands:errands") for _ in range(3)]
        assert len({each.artifact_id for each in published}) == 1
        [start] = stage.emit("errand.asked", {"n": 1}).starts
        assert start.publication_id == published[-1].publication_id
