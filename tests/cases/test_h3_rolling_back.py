"""H3: rolled back to the first version, the slot selects it, what starts is of it, and what runs stays what it was."""

import pytest

from interlock.testing import Rehearsal
from tests.support import errands

pytestmark = pytest.mark.cases


@pytest.mark.parametrize("by", ["publish", "restore", "previous"])
def test_first_second_and_first_again(by: str) -> None:
    """Proves: PUB-18, PUB-20."""
    with Rehearsal(errands) as stage:
        first = stage.publish("tests.support.errands:parcels")
        second = stage.publish("tests.support.errands:parcels_v2")
        running = stage.start("parcel.sent", {"parcel_id": "p-1"})
        if by == "publish":
            back = stage.publish("tests.support.errands:parcels")
        else:
            named = first.publication_id if by == "restore" else None
            back = stage.client.restore("parcels", publication=named)
        slot = stage.client.slot("parcels", position=back.position)
        assert (slot.slot.publication_id, slot.slot.revision) == (back.publication_id, 3)
        assert slot.authority is not None
        assert slot.authority.publication.artifact_id == first.artifact_id != second.artifact_id
        assert stage.client.publication(second.publication_id).publication.status == "retired"

        new = stage.start("parcel.sent", {"parcel_id": "p-2"})
        assert (stage.run(new).run.publication_id, stage.run(new).run.artifact_id) == (
            back.publication_id,
            first.artifact_id,
        )
        for parcel in ("p-1", "p-2"):
            stage.emit("parcel.signed", {"by": "Ada"}, correlation=parcel)
        assert stage.ended(new).run.status == stage.ended(running).run.status == "completed"
        assert stage.run(running).run.artifact_id == second.artifact_id
        assert [step.node_id for step in stage.run(running).steps] == ["pack", "signed", "hand_over", "told"]
        assert [step.node_id for step in stage.run(new).steps] == ["pack", "signed", "hand_over"]
