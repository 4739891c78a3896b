"""Facts of a dead letter (stream `dead-letter:<dead_letter_id>`). Names are storage."""

from dataclasses import dataclass
from typing import Literal

from interlock.domain.messages import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusRejected:
    """A stimulus can't be routed; the ones behind it go on."""

    dead_letter_id: str
    shell: str
    reason: Literal["unreadable", "unknown-type", "too-large", "invalid", "conflict"]
    detail: str
    excerpt: str
    size: int
    rejected_at_ms: int
    origin: Origin


DeadLetterEvent = StimulusRejected
