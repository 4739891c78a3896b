"""The holder of the trigger index answers the candidates whose rows it has stored.

Always true: an answer is read from rows, after their transaction; so a candidate that is told "prepared" has its rows,
and who asks again is answered again from the same rows, whatever was lost in between. Nothing is answered while the
view catches up: what lies behind may hold the answer already, so that a replay or a rebuild answers only what is
still pending (PRJ-02, PRJ-07).
"""

from interlock.domain.messages import ProjectionAnswered
from interlock.projections.host import ViewHost
from interlock.projections.reader import WarmingUp
from interlock.projections.trigger_index.query import TriggerIndex


class TriggerIndexHolder:
    """Says what is to be answered now; whoever sends it may send it as often as it likes."""

    def __init__(self, host: ViewHost, index: TriggerIndex) -> None:
        self._host = host
        self._index = index

    def pending_answers(self) -> list[ProjectionAnswered]:
        """An answer for each candidate that is staged, has its rows here, and was not recorded as prepared."""
        if not self._host.caught_up:
            return []
        try:
            asks = self._index.asks()
        except WarmingUp:
            # The copy that serves is just being replaced, or somebody has deleted it.
            return []
        return [
            ProjectionAnswered(shell=ask.shell, publication_id=ask.publication_id, kind=ask.kind, prepared=True)
            for ask in asks
        ]
