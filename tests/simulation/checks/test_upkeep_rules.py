"""Upkeep: a repair where nobody changed rows breaks a rule, and so does a verification that finds something."""

from dataclasses import replace

import pytest

from interlock.domain.messages import RepairProjection
from interlock.runtime.verifications import VerifyReport
from tests.simulation.checks import Violation
from tests.simulation.checks.story import Story
from tests.simulation.checks.upkeep import UpkeepCheck, check_verified

pytestmark = pytest.mark.simulation


def test_a_repair_is_asked_for_although_nobody_changed_rows(story: Story) -> None:
    message = story.landed_message(RepairProjection, 0)
    UpkeepCheck(None).asked(message)
    UpkeepCheck({message.publication_id}).asked(message)
    with pytest.raises(Violation) as found:
        UpkeepCheck({"another"}).asked(message)
    assert found.value.rule == "repaired-needlessly"


@pytest.mark.parametrize(("missing", "foreign", "changed"), [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_verification_finds_a_row_that_differs(missing: int, foreign: int, changed: int) -> None:
    report = VerifyReport(verify_id="one", requested_at_ms=1, state="done", rows=9)
    check_verified("slots", report)
    with pytest.raises(Violation) as found:
        check_verified("slots", replace(report, missing=missing, foreign=foreign, changed=changed))
    assert found.value.rule == "verified-different"
