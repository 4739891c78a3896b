"""Facts of a wait (stream `wait:<execution_id>:<bookmark_id>`). Names are storage."""

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class WaitRegistered:
    """An execution waits for stimuli of an identity and correlation."""

    shell: str
    identity: str
    correlation: str
    execution_id: str
    bookmark_id: str
    committed_at_ms: int
    started_by: str


@frozen(kw_only=True)
class WaitTaken:
    """A stimulus met it; no other one does."""

    execution_id: str
    bookmark_id: str
    stimulus_id: str


@frozen(kw_only=True)
class WaitWithdrawn:
    """It is gone without a stimulus."""

    execution_id: str
    bookmark_id: str


WaitEvent = WaitRegistered | WaitTaken | WaitWithdrawn
