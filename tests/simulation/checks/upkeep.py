"""What looks after views finds nothing where nobody has changed rows: what only lags is right where it is.

Rules: repaired-needlessly, verified-different.
"""

from interlock.domain.messages import RepairProjection
from interlock.runtime.verifications import VerifyReport
from tests.simulation.checks import Violation


class UpkeepCheck:
    """Follows what reconcilers ask for, and what verifications find."""

    def __init__(self, *, untouched: bool) -> None:
        """`untouched`: nobody but projectors changes rows in this run."""
        self._untouched = untouched

    def asked(self, message: RepairProjection) -> None:
        """A repair that was asked for lies in publishing's inbox."""
        if self._untouched:
            raise Violation(
                "repaired-needlessly", f"expected no repair, since nobody has changed rows, found {message}"
            )


def check_verified(view: str, report: VerifyReport) -> None:
    """Every row of a view is as the journals give it, at whatever they were compared. Raises `Violation`."""
    if report.missing or report.foreign or report.changed:
        raise Violation(
            "verified-different",
            f"expected the rows of {view} as the journals give them, found {report.missing} missing, {report.foreign} "
            f"foreign and {report.changed} changed: {report.samples}",
        )
