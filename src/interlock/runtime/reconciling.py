"""Reconciliation in a process: which copies it can see, and how it asks publishing for a repair."""

from interlock.domain.messages import RepairProjection
from interlock.log.port import Log
from interlock.processors.copies import ReplicaCopy, ViewCopy
from interlock.processors.mail import Cause, client_record
from interlock.processors.ports import Codec, Ids, Topics
from interlock.processors.reconciler import Ask, Copy, Outcome, Reconciler
from interlock.processors.replica import AuthorityReplica
from interlock.processors.truth import Truth
from interlock.projections.reader import ViewReader
from interlock.runtime.gateway import Gateway

ANSWER_S = 10.0
"""How long a repair that somebody waits for may take to be answered; it takes one append."""


def reconciler(
    truth: Truth,
    replica: AuthorityReplica,
    view: ViewReader | None,
    ask: Ask,
    *,
    ids: Ids,
    topics: Topics,
) -> Reconciler:
    """The passes over the process's own replica, and over the view where one is given."""
    copies: list[Copy] = [ReplicaCopy(replica, f"replica of process {ids()[:8]}")]
    if view is not None:
        copies.append(ViewCopy(view, topics.journal("publishing", 0), f"view {view.view.name}"))
    return Reconciler(truth, copies, ask, ids)


def answered(gateway: Gateway) -> Ask:
    """Asks, and waits for the answer; for a process that hears answers."""

    async def ask(message: RepairProjection) -> tuple[Outcome, str]:
        answer = await gateway.repair(message, ANSWER_S)
        match answer.status:
            case "done":
                return "repaired", ""
            case "pending":
                return "asked", "publishing has not answered yet"
            case "refused" | "failed":
                return "refused", str(answer.body.get("message", ""))

    return ask


def unanswered(wire: Log, codec: Codec, topics: Topics) -> Ask:
    """Asks, and lets the next pass see what came of it."""

    async def ask(message: RepairProjection) -> tuple[Outcome, str]:
        shard = topics.inbox("publishing", topics.partition("publishing", message.shell))
        cause = Cause(f"reconciliation:{message.reconciliation_id}", message.command_id, message.requested_by)
        await wire.send(shard, [client_record(codec, message.shell, message, cause)])
        return "asked", ""

    return ask
