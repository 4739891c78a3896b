"""Facts of a stimulus (stream `stimulus:<stimulus_id>`). Names are storage."""

from typing import Literal

from interlock.domain.frozen import frozen
from interlock.domain.messages import Origin


@frozen(kw_only=True)
class Started:
    """A run that the stimulus starts."""

    execution_id: str
    publication_id: str
    binding_id: str


@frozen(kw_only=True)
class Resumed:
    """A wait that the stimulus took."""

    execution_id: str
    bookmark_id: str


@frozen(kw_only=True)
class StimulusRouted:
    """It was looked up once, at one position of the publishing journal; without starts and resumes it is unmatched,
    or kept."""

    stimulus_id: str
    shell: str
    type: str
    name: str
    identity: str
    correlation: str
    idempotency_key: str
    data: str
    arrived_at_ms: int
    kept_until_ms: int | None
    """Until when it meets waits that appear after it; None where it had no time to live."""
    deliver: Literal["all", "one"]
    past_horizon: bool
    """It came so long after what the shard remembers (`dedup_horizon`) that an earlier routing of it may be forgotten
    or is: it was taken as new."""
    origin: Origin
    starts: tuple[Started, ...]
    resumes: tuple[Resumed, ...]


@frozen(kw_only=True)
class StimulusMatched:
    """It met a wait whose registration came after it."""

    stimulus_id: str
    execution_id: str
    bookmark_id: str


@frozen(kw_only=True)
class StimulusReturned:
    """The execution declined it; it may meet another wait."""

    stimulus_id: str
    execution_id: str
    bookmark_id: str


@frozen(kw_only=True)
class StimulusExpired:
    """Its time to live has passed; a wait whose bookmark was committed before may still meet it, when it registers."""

    stimulus_id: str
    at_ms: int


StimulusEvent = StimulusRouted | StimulusMatched | StimulusReturned | StimulusExpired
