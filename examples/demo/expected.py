"""What a file of stimuli has to come to, counted from its lines alone and with nothing of the engine.

Deliberately naive: it knows the few ways in which the example's lines are unfit, and nothing else.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

FIELDS = {"type", "name", "data", "idempotencyKey", "correlation", "ttl"}


@dataclass(slots=True)
class Expected:
    """The counts of all lines that were given to `add`."""

    written: int = 0
    """Lines."""
    orders: set[str] = field(default_factory=set[str])
    """Each of these is one run."""
    payments: set[str] = field(default_factory=set[str])
    """Each of these resumes one run."""
    unheard: set[str] = field(default_factory=set[str])
    """Events that no workflow asks for."""
    rejected: Counter[str] = field(default_factory=Counter[str])
    """Reason → lines that become dead letters."""
    _seen: dict[tuple[str, str, str], object] = field(default_factory=dict[tuple[str, str, str], object])

    @property
    def distinct(self) -> int:
        """Stimuli that are routed, repetitions left out."""
        return len(self.orders) + len(self.payments) + len(self.unheard)

    @property
    def dead_letters(self) -> int:
        """All that were rejected."""
        return sum(self.rejected.values())

    def add(self, lines: Iterable[str]) -> None:
        """Counts further lines, in the order in which they are written."""
        for line in lines:
            self.written += 1
            if reason := self._judge(line):
                self.rejected[reason] += 1

    def _judge(self, line: str) -> str:
        """Why a line is a dead letter; "" where it is none, and then it is counted."""
        try:
            found: object = json.loads(line)
        except ValueError:
            return "unreadable"
        if not isinstance(found, dict):
            return "invalid"
        stimulus = cast("dict[str, object]", found)
        if not stimulus.keys() <= FIELDS or "name" not in stimulus or not isinstance(stimulus.get("ttl", ""), str):
            return "invalid"
        if stimulus["type"] != "Event":
            return "unknown-type"
        name, key = str(stimulus["name"]), str(stimulus["idempotencyKey"])
        identity = (name, str(stimulus.get("correlation", "")), key)
        if self._seen.setdefault(identity, stimulus["data"]) != stimulus["data"]:
            return "conflict"
        kinds = {"order.placed": self.orders, "payment.received": self.payments}
        kinds.get(name, self.unheard).add(key)
        return ""
