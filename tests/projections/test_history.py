"""The history of an aggregate, as it was recorded."""

import json
from pathlib import Path

import pytest

from interlock.projections.history.fold import VIEW
from interlock.projections.history.query import SqliteHistory
from interlock.projections.reader import ViewReader, WarmingUp
from interlock.testing.virtual_time import run_virtual
from tests.projections.journals import CODEC, Journals
from tests.projections.stories import activation, candidate, prepared, routed, whole_run


def test_every_event_of_every_journal_is_told_in_the_order_of_its_stream(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals(partitions=2)
        await journals.commit("publishing", *candidate("p1"))
        await journals.commit("publishing", *prepared("p1"), *activation("p1", revision=1))
        await journals.commit("routing", routed("s"), partition=1)
        run = whole_run("one")
        first = await journals.commit("executions", *run[:2], partition=1, time_ms=7_000)
        second = await journals.commit("executions", *run[2:], partition=1)
        reader = ViewReader(tmp_path, VIEW)
        history = SqliteHistory(reader, CODEC)
        with pytest.raises(WarmingUp):
            history.history("execution:one")
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        entries = history.history("execution:one")
        assert [entry.revision for entry in entries] == [1, 2, 3, 4, 5]
        assert [entry.number for entry in entries] == [first.frame.number] * 2 + [second.frame.number] * 3
        begun = entries[0]
        assert (begun.type, begun.time_ms, begun.partition, begun.position) == (
            "executions.ExecutionStarted",
            7_000,
            1,
            1,
        )
        assert (begun.causation, begun.correlation, begun.actor) == ("cause", "request", "somebody")
        assert begun.owner == first.frame.owner
        assert json.loads(begun.data)["artifact_id"] == "artifact-p1"
        assert [entry.revision for entry in history.history("execution:one", above=3)] == [4, 5]
        assert [entry.revision for entry in history.history("execution:one", limit=2)] == [1, 2]
        (stimulus,) = history.history("stimulus:s")
        assert json.loads(stimulus.data)["origin"]["topic"] == "interlock.stimuli@1"
        publication = [entry.type for entry in history.history("publication:p1")]
        assert publication == [
            "publishing.PublicationRequested",
            "publishing.PublicationStaged",
            "publishing.ProjectionPrepared",
            "publishing.PublicationActivated",
        ]
        assert history.history("execution:nobody") == ()
        counts = history.counts()
        assert counts["executions.ActivityCompleted"] == 3
        assert sum(counts.values()) == 5 + 1 + 6
        await host.close()
        reader.close()

    run_virtual(main())


def test_a_void_event_is_no_history(tmp_path: Path) -> None:
    async def main() -> None:
        journals = Journals()
        await journals.commit("executions", *whole_run("one"))
        await journals.void("executions", *whole_run("void"))
        host = journals.host(VIEW, tmp_path)
        await host.start()
        while not host.caught_up:
            await host.changed(1.0)
        reader = ViewReader(tmp_path, VIEW)
        history = SqliteHistory(reader, CODEC)
        assert history.history("execution:void") == ()
        assert sum(history.counts().values()) == 5
        reader.close()
        await host.close()

    run_virtual(main())
