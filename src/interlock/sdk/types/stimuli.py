"""Answers about stimuli and dead letters."""

from dataclasses import dataclass

from interlock.sdk.types.common import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A stimulus is durable, and will be routed."""

    stimulus_id: str
    at_least: str = ""
    """The position that a query may carry to know of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a stimulus came in."""

    channel: str
    """http, kafka or test."""
    topic: str
    """The topic and its id, for kafka; else ""."""
    partition: int
    """-1 unless it came from a topic."""
    offset: int
    """-1 unless it came from a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """A stimulus that was routed."""

    stimulus_id: str
    shell: str
    type: str
    name: str
    correlation: str
    idempotency_key: str
    data: Json
    arrived_at_ms: int
    kept_until_ms: int | None
    """Until when it meets waits that appear after it; None where it had no time to live."""
    deliver: str
    outcome: str
    """started · resumed · unmatched · kept · expired."""
    expired_at_ms: int | None
    past_horizon: bool
    """Whether it came so late that it may have been routed before without anybody remembering."""
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that a stimulus started."""

    execution_id: str
    publication_id: str
    binding_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """A wait that a stimulus took."""

    execution_id: str
    bookmark_id: str
    late: bool
    """Whether the wait was registered after the stimulus had been routed."""
    declined: bool
    """Whether the run did not take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusDetail:
    """A stimulus with what it did."""

    stimulus: Stimulus
    starts: tuple[Start, ...]
    resumes: tuple[Resume, ...]
    mark: str = ""
    """Given as `seen` with `wait`, the next answer comes once something is different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A stimulus that could not be routed."""

    dead_letter_id: str
    shell: str
    reason: str
    detail: str
    """What was expected and found."""
    excerpt: str
    """Its first characters."""
    size: int
    """Bytes of the whole."""
    rejected_at_ms: int
    origin: Origin
