"""The rows of stimuli and dead letters."""

from typing import Literal, NamedTuple

from interlock.projections.rows import Table

Outcome = Literal["started", "resumed", "unmatched", "kept", "expired"]
"""started: it started a run · resumed: it resumed one, and started none · kept: it met nothing yet and still may ·
expired: it met nothing in its time to live · unmatched: it met nothing and had none."""


class StimulusRow(NamedTuple):
    """A stimulus that was routed."""

    stimulus_id: str
    shell: str
    type: str
    name: str
    identity: str
    """Of both, normalised; what bindings and waits are looked up by."""
    correlation: str
    idempotency_key: str
    data: str
    """The payload as JSON."""
    arrived_at_ms: int
    kept_until_ms: int | None
    """Until when it meets waits that appear after it; None where it had no time to live."""
    deliver: Literal["all", "one"]
    outcome: Outcome
    expired_at_ms: int | None
    """When its time to live was noted as passed."""
    past_horizon: int
    """1 where it came so late that it may have been routed before without anybody remembering; else 0."""
    channel: str
    """Where it came in: "kafka", "http" or "test"."""
    topic: str
    """The topic and its id, as `name@id`, for channel kafka; else ""."""
    partition: int
    """-1 unless it came from a topic."""
    offset: int
    """-1 unless it came from a topic."""


class StartRow(NamedTuple):
    """A run that a stimulus started."""

    stimulus_id: str
    binding_id: str
    execution_id: str
    publication_id: str


class ResumeRow(NamedTuple):
    """A wait that a stimulus took."""

    stimulus_id: str
    execution_id: str
    bookmark_id: str
    late: int
    """1 where the wait was registered after the stimulus had been routed; else 0."""
    declined: int
    """1 where the execution did not take it; else 0."""


class DeadLetterRow(NamedTuple):
    """A stimulus that could not be routed."""

    dead_letter_id: str
    shell: str
    reason: str
    """ "unreadable", "unknown-type", "too-large", "invalid" or "conflict"."""
    detail: str
    """What was expected and found."""
    excerpt: str
    """Its first characters."""
    size: int
    """Bytes of the whole."""
    rejected_at_ms: int
    channel: str
    topic: str
    partition: int
    offset: int


STIMULI = Table(
    "stimuli",
    StimulusRow,
    ("stimulus_id",),
    indexes=(
        ("shell", "arrived_at_ms", "stimulus_id"),
        ("shell", "outcome", "arrived_at_ms", "stimulus_id"),
        ("shell", "name", "arrived_at_ms", "stimulus_id"),
    ),
)
STARTS = Table("starts", StartRow, ("stimulus_id", "binding_id"), indexes=(("execution_id",),))
RESUMES = Table("resumes", ResumeRow, ("stimulus_id", "execution_id", "bookmark_id"), indexes=(("execution_id",),))
DEAD_LETTERS = Table(
    "dead_letters",
    DeadLetterRow,
    ("dead_letter_id",),
    indexes=(("shell", "rejected_at_ms", "dead_letter_id"), ("shell", "reason", "rejected_at_ms", "dead_letter_id")),
)
TABLES = (STIMULI, STARTS, RESUMES, DEAD_LETTERS)
