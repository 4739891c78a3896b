"""An executable: what a definition compiles to. Immutable, named by the hash of its canonical content (`artifact_id`).

Its canonical content is JSON with sorted keys and without spaces (`compiler.canonical`); two definitions with the same
content share it. It never says who may start work: a publication does.
"""

from dataclasses import dataclass, field
from typing import Literal

Cardinality = Literal["exclusive", "fan-out"]
Cadence = Literal["immediate", "coalesced"]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityNode:
    """Calls an activity."""

    id: str
    activity: str
    """The name under which a process presents its code."""
    inputs: tuple[tuple[str, str], ...]
    """Parameter → source: "input" (the starting stimulus' payload) or the id of an earlier node, then a dotted path."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerNode:
    """Waits for a time."""

    id: str
    delay_ms: int


Node = ActivityNode | WaitNode | TimerNode


@dataclass(frozen=True, slots=True, kw_only=True)
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
