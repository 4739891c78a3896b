"""An executable: what a definition compiles to. Immutable, named by the hash of its canonical content (`artifact_id`).

Its canonical content is JSON with sorted keys and without spaces (`compiler.canonical`); two definitions with the same
content share it. It never says who may start work: a publication does.
"""

from dataclasses import field
from typing import Literal

from interlock.domain.frozen import frozen

Cardinality = Literal["exclusive", "fan-out"]
Cadence = Literal["immediate", "coalesced"]


@frozen(kw_only=True)
class Route:
    """Where an HTTP endpoint is found."""

    method: str
    """Such as "POST"."""
    template: str
    """As the author wrote it, such as "/orders/:id"; what it has in common with others is `templates.shape` of it."""


@frozen(kw_only=True)
class Schedule:
    """When a trigger is due by itself; see `schedules`."""

    kind: Literal["interval", "cron"]
    every_ms: int = 0
    """The interval; 0 for a cron expression."""
    expression: str = ""
    """The cron expression; "" for an interval."""
    zone: str = ""
    """Whose wall clock a cron expression is about, by its IANA name; "" for an interval."""
    gap: Literal["shift", "skip"] = "shift"
    """What becomes of a time that the clock jumps over."""
    overlap: Literal["first", "last", "both"] = "first"
    """Which one counts of a time that comes twice."""


@frozen(kw_only=True)
class Trigger:
    """A node that starts work when a stimulus of its identity comes."""

    node_id: str
    type: str
    """The stimulus type, such as "Event"."""
    name: str
    identity: str
    """`sharding.stimulus_identity(type, name)`."""
    cardinality: Cardinality
    claim: str
    """What it claims, in words that two triggers share exactly if they claim the same, such as "event:order.placed"."""
    route: Route | None = field(default=None)
    """Where it is found, if it is an HTTP endpoint."""
    schedule: Schedule | None = field(default=None)
    """When it is due, if it comes by itself."""


@frozen(kw_only=True)
class ActivityNode:
    """Calls an activity."""

    id: str
    activity: str
    """The name under which a process presents its code."""
    inputs: tuple[tuple[str, str], ...]
    """Parameter → source: "input" (the starting stimulus' payload) or the id of an earlier node, then a dotted path."""


@frozen(kw_only=True)
class WaitNode:
    """Waits for a stimulus; its payload is the node's output."""

    id: str
    type: str
    name: str
    identity: str
    correlate: str | None
    """A source as in `ActivityNode.inputs`; its value as text is the correlation. None waits for any of the identity
    that has no correlation."""
    timeout_ms: int | None
    """After this the run faults with `WaitTimedOut`; None waits for ever."""


@frozen(kw_only=True)
class TimerNode:
    """Waits for a time."""

    id: str
    delay_ms: int


Node = ActivityNode | WaitNode | TimerNode


@frozen(kw_only=True)
class Executable:
    """A compiled definition: the triggers that it asks for and the nodes that its runs go through in order."""

    artifact_id: str
    definition_id: str
    version: str
    """The hash of the structural contract (VER-01), or what the author declared."""
    triggers: tuple[Trigger, ...]
    nodes: tuple[Node, ...]
    checkpoints: Cadence | None = field(default=None)
    """The workflow's own cadence (CHK-03); None takes the host's."""
