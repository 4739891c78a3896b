"""Which slot a request is for: the request's own word > what the workflow's document demands > the host's setting.

None of them ever makes a name up (PUB-07), and none lets an ordinary publish come to stand beside another one without
somebody having written down the name that it then has (PUB-08).
"""

from typing import Final, Literal

from interlock.domain.frozen import frozen
from interlock.domain.refusal import Refusal

DEFAULT_SLOT: Final = "default"

HostPolicy = Literal["default", "explicit"]
"""What the host does with a request that names no slot. default: it is for the slot `default` · explicit: it is
refused."""
PolicySource = Literal["request", "workflow", "host"]


@frozen(kw_only=True)
class WorkflowPolicy:
    """What the document of a workflow demands of publishing."""

    slot: str = ""
    """Where a request goes that names no slot; "" leaves it to the host."""
    explicit: bool = False
    """A request that names no slot is refused."""


NO_POLICY: Final = WorkflowPolicy()


@frozen(kw_only=True)
class Choice:
    """The slot that a request is for, and who decided so."""

    slot_name: str
    source: PolicySource


def choose(definition_id: str, slot: str | None, workflow: WorkflowPolicy, host: HostPolicy) -> Choice | Refusal:
    """The slot of a request (`slot` is the one that it names), or why it has to name one."""
    if slot is not None:
        return Choice(slot_name=slot, source="request")
    if workflow.explicit:
        return _to_be_named(definition_id, "workflow")
    if workflow.slot:
        return Choice(slot_name=workflow.slot, source="workflow")
    if host == "explicit":
        return _to_be_named(definition_id, "host")
    return Choice(slot_name=DEFAULT_SLOT, source="host")


def _to_be_named(definition_id: str, source: PolicySource) -> Refusal:
    whose = f"the document of {definition_id!r}" if source == "workflow" else "the policy of this host"
    sentence = (
        f"Expected a slot to be named, as {whose} demands, found none; "
        'name one with --slot NAME (in a request "slot": "NAME").'
    )
    return Refusal("invalid", sentence, (("definitionId", definition_id), ("policySource", source)))
