"""H11: two slots that select the same executable are independent: emptying one leaves the other as it was."""

import pytest

from interlock.testing import Rehearsal
from tests.support import errands

pytestmark = pytest.mark.cases


@pytest.mark.parametrize(("emptied", "left"), [("default", "canary"), ("canary", "default")])
def test_the_slot_that_is_left_goes_on_starting_runs(emptied: str, left: str) -> None:
    """Proves: PUB-02, PUB-07, PUB-14, PUB-18, TRG-05."""
    with Rehearsal(errands) as stage:
        published = {slot: stage.publish("tests.support.errands:errands", slot=slot) for slot in ("default", "canary")}
        assert len({each.artifact_id for each in published.values()}) == 1
        assert {each.publication_id for each in stage.emit("errand.asked", {"n": 1}).starts} == {
            each.publication_id for each in published.values()
        }
        stage.client.unpublish("errands", slot=emptied)
        for restarted in (False, True):
            if restarted:
                stage.restart()
            [start] = stage.emit("errand.asked", {"n": 2}).starts
            assert start.publication_id == published[left].publication_id
            assert stage.ended(start.execution_id).run.status == "completed"
        kept = stage.client.publication(published[left].publication_id).source_reference
        gone = stage.client.publication(published[emptied].publication_id).source_reference
        assert kept is not None
        assert gone is not None
        assert (kept.live, gone.live, kept.artifact_id) == (True, False, gone.artifact_id)
