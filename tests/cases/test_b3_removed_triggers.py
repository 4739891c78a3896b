"""B3: a trigger that the new version no longer has starts nothing any more."""

import json

import pytest

from interlock.testing import Rehearsal
from tests.support import errands

pytestmark = pytest.mark.cases


def test_a_trigger_that_was_taken_out_is_unmatched() -> None:
    """Proves: PUB-03, PUB-09."""
    both = {**errands.errands.document(), "triggers": [_event("errand.asked"), _event("errand.urged")]}
    one = {**both, "triggers": [_event("errand.asked")]}
    with Rehearsal(errands) as stage:
        stage.client.publish(json.dumps(both))
        assert len(stage.emit("errand.urged", {"n": 1}).starts) == 1
        looked = stage.client.preflight(json.dumps(one))
        assert [claim.claim for claim in looked.removed] == ["event:errand.urged"]
        assert [claim.claim for claim in looked.retained] == ["event:errand.asked"]
        second = stage.client.publish(json.dumps(one))
        removed = stage.emit("errand.urged", {"n": 2})
        assert (removed.stimulus.outcome, removed.starts) == ("unmatched", ())
        [start] = stage.emit("errand.asked", {"n": 3}).starts
        assert start.publication_id == second.publication_id


def _event(name: str) -> dict[str, str]:
    return {"type": "event", "name": name}
