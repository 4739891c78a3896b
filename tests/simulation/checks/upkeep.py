"""What looks after views finds nothing where nobody has tampered with rows: what only lags is right where it is.

Rules: repaired-needlessly, verified-different.
"""

from interlock.domain.messages import RepairProjection
from interlock.runtime.verifications import VerifyReport
from tests.simulation.checks import Violation


class UpkeepCheck:
    """Follows what reconcilers ask for, and what verifications find."""

    def __init__(self, tampered: set[str] | None) -> None:
        """`tampered` as in `Seen`."""
        self._tampered = tampered

    def asked(self, message: RepairProjection) -> None:
        """A repair that was asked for lies in publishing's inbox."""
        if self._tampered is not None and message.publication_id not in self._tampered:
            raise Violation(
                "repaired-needlessly", f"expected no repair, since nobody has changed these rows, found {message}"
            )


def check_verified(view: str, report: VerifyReport) -> None:
    """Every row of a view is as the journals give it, at whatever they were compared. Raises `Violation`."""
    if report.missing or report.foreign or report.changed:
        raise Violation(
            "verified-different",
            f"expected the rows of {view} as the journals give them, found {report.missing} missing, {report.foreign} "
            f"foreign and {report.changed} changed: {report.samples}",
        )
