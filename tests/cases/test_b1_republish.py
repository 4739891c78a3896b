"""B1: after a republish only the new publication starts work, whatever order messages come in and however often."""

import json

import pytest

from interlock.log.faults import FaultRates
from interlock.testing import Rehearsal
from tests.support import errands

pytestmark = pytest.mark.cases

STORM = FaultRates(
    lands_twice=0.3, lands_late=0.1, acknowledged_late=0.2, acknowledgement_lost=0.1, ask_late=0.2, delay_s=(0.001, 1.0)
)
"""Messages come twice, late, and behind later ones; nobody is told how it went."""
V1 = json.dumps(errands.errands.document())
V2 = json.dumps({**errands.errands.document(), "description": "changed", "version": "two"})


def test_a_stimulus_after_a_republish_starts_one_run_of_the_new_version() -> None:
    """Proves: PUB-03, PUB-06."""
    with Rehearsal(errands) as stage:
        first = stage.client.publish(V1)
        second = stage.client.publish(V2)
        [start] = stage.emit("errand.asked", {"n": 1}).starts
        assert start.publication_id == second.publication_id != first.publication_id
        assert stage.ended(start.execution_id).run.status == "completed"


@pytest.mark.parametrize("seed", range(5))
def test_messages_that_come_late_and_twice_bring_no_old_version_back(seed: int) -> None:
    """Proves: PRJ-02, PRJ-04, PUB-03."""
    with Rehearsal(errands, seed=seed, faults=STORM) as stage:
        for number, text in enumerate((V1, V2, V1, V2)):
            published = stage.client.publish(text, wait_s=60)
            assert published.status == "active", published
            [start] = stage.emit("errand.asked", {"n": number}, key=f"k-{number}").starts
            assert start.publication_id == published.publication_id
        stage.calm()
        stage.advance(minutes=1)  # what a storm has delayed comes later
        assert [each.status for each in stage.client.publications(definition="errands").items] == [
            "active",
            "retired",
            "retired",
            "retired",
        ]
        assert len(stage.client.runs(definition="errands").items) == 4
