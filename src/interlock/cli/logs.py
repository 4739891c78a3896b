"""The log of a process: one line an event on stderr, for people and for what collects lines."""

import logging
import sys
from datetime import UTC, datetime


class _Lines(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """The instant in UTC, as everything else here has it."""
        at = datetime.fromtimestamp(record.created, UTC)
        return f"{at:%Y-%m-%dT%H:%M:%S}.{record.msecs:03.0f}Z"


def set_up_logging() -> None:
    """Sends what is logged to stderr: all of ours, and of libraries what somebody should look at."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("interlock").setLevel(logging.INFO)
