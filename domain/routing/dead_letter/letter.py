"""What a dead letter is called, and how much of a stimulus it shows."""

import re
from typing import Final

from interlock.domain.messages import Origin
from interlock.domain.sharding import digest

EXCERPT_CHARACTERS_MAX: Final = 1_024
"""Enough to recognise a record; the whole may hold secrets, and it can be read again at its origin."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def stream_of(dead_letter_id: str) -> str:
    """The stream of its facts."""
    return f"dead-letter:{dead_letter_id}"


def dead_letter_id(origin: Origin, otherwise: str) -> str:
    """The same for the same record, however often it is read; `otherwise` names what came by no topic."""
    if origin.channel == "kafka":
        return digest("dead-letter", origin.topic, str(origin.partition), str(origin.offset))
    return digest("dead-letter", origin.channel, otherwise)


def excerpt(text: str) -> str:
    """The beginning; characters that would act on a terminal or can't be written as UTF-8 are replaced."""
    return _UNPRINTABLE.sub("\ufffd", text[:EXCERPT_CHARACTERS_MAX])
