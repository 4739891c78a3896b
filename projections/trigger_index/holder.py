"""The holder of the trigger index answers the candidates whose rows it has stored.

Always true: an answer is read from rows, after their transaction; so a candidate that is told "prepared" has its rows,
and who asks again is answered again from the same rows, whatever was lost in between. Nothing is answered while the
view catches up: what lies behind may hold the answer already, so that a replay or a rebuild answers only what is
still pending (PRJ-02, PRJ-07). And nothing is where the file was deleted: rows that nobody can read prepare nothing.
"""

from interlock.domain.messages import ProjectionAnswered
from interlock.projections.host import ViewHost
from interlock.projections.store import StoreAway
from interlock.projections.trigger_index.store import ASKS, AskRow


class TriggerIndexHolder:
    """Says what is to be answered now; whoever sends it may send it as often as it likes."""

    def __init__(self, host: ViewHost) -> None:
        self._host = host

    def pending_answers(self) -> list[ProjectionAnswered]:
        """An answer for each candidate that is staged, has its rows here, and was not recorded as prepared.

        The one with the nearest deadline comes first. It is asked for whenever the view has moved.
        """
        if not self._host.caught_up or self._host.fault:
            return []
        try:
            asks = sorted(self._host.rows(ASKS), key=_deadline)
        except StoreAway:
            # Publishing asks again after a while, which moves the view once its file can be used.
            return []
        return [
            ProjectionAnswered(shell=ask.shell, publication_id=ask.publication_id, kind=ask.kind, prepared=True)
            for ask in asks
        ]


def _deadline(ask: AskRow) -> tuple[int, str]:
    return ask.deadline_ms, ask.publication_id
