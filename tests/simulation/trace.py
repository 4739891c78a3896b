"""What happened in a run, in lines that a person can read: when, in which process, what.

Lines are kept as they come and written out only where somebody asks. Their digest tells two runs apart: one seed gives
one digest, whatever the interpreter's hash seed.
"""

import asyncio
import hashlib
import logging
from contextvars import ContextVar
from typing import Final

LINES_KEPT_MAX: Final = 50_000
"""Some hours of virtual time; the oldest lines of a longer run are forgotten, the digest is of all."""

IN_PROCESS: Final[ContextVar[str]] = ContextVar("IN_PROCESS", default="")
"""The simulated process whose code runs now; "" for the simulation's own."""


class Trace:
    """The lines of one run."""

    def __init__(self, *, hide: str = "") -> None:
        """`hide` is a text that differs from run to run, such as a temporary folder's name, and is left out."""
        self.lines: list[tuple[float, str, str]] = []
        self._hide = hide
        self._digest = hashlib.sha256()
        self._forgotten = 0

    def add(self, process: str, what: str) -> None:
        """Adds a line at the loop's time."""
        now_s = asyncio.get_running_loop().time()
        text = what.replace(self._hide, "") if self._hide else what
        self._digest.update(f"{now_s:.6f} {process} {text}\n".encode("utf-8", "backslashreplace"))
        self.lines.append((now_s, process, text))
        if len(self.lines) > LINES_KEPT_MAX:
            del self.lines[: LINES_KEPT_MAX // 2]
            self._forgotten += LINES_KEPT_MAX // 2

    @property
    def digest(self) -> str:
        """The same for two runs exactly if they have the same lines."""
        return self._digest.hexdigest()

    def text(self, last: int | None = None) -> str:
        """The lines, or the last of them."""
        shown = self.lines if last is None else self.lines[-last:]
        left_out = self._forgotten + len(self.lines) - len(shown)
        head = [f"… {left_out} lines before"] if left_out else []
        return "\n".join([*head, *(f"{at_s:10.3f}  {process:<7} {what}" for at_s, process, what in shown)])


class TraceHandler(logging.Handler):
    """Takes what the engine logs into the trace, with the process that it comes from."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.WARNING)
        self._trace = trace

    def emit(self, record: logging.LogRecord) -> None:
        """Adds a line."""
        process = IN_PROCESS.get()
        text = record.getMessage()
        if record.exc_info is not None and record.exc_info[1] is not None:
            text += f" ({record.exc_info[1]!r})"
        self._trace.add(process, f"{record.levelname.lower()}: {text}")
