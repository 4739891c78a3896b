"""What the API answers, as data: the server writes exactly the types that a client reads.

On the wire field names are in camel case and instants are milliseconds since 1970. Payloads (`data`, `output`) are the
JSON values themselves. A client passes over fields that it doesn't know, so that newer servers can be asked too.
"""

from interlock.sdk.types.audit import AggregateState, Why, WhyPrepared, WhyReplaced
from interlock.sdk.types.common import Health, Json, Page
from interlock.sdk.types.problems import Conflict, DocumentFault, Problem
from interlock.sdk.types.publishing import (
    Claim,
    Owner,
    Preflight,
    Projection,
    ProjectionIntent,
    Publication,
    PublicationDetail,
    Published,
    Slot,
    SlotDetail,
    SourceReference,
    Unpublish,
    Unpublished,
)
from interlock.sdk.types.reconciling import ComparedCopy, Drifted, Reconciled, Repair
from interlock.sdk.types.runs import (
    ENDED,
    Cancel,
    Cancelled,
    Counts,
    Fault,
    Run,
    RunDetail,
    RunStatus,
    Step,
    Unserved,
    Wait,
)
from interlock.sdk.types.stimuli import DeadLetter, Emitted, Origin, Resume, Start, Stimulus, StimulusDetail
from interlock.sdk.types.views import (
    DifferingRow,
    HistoryEntry,
    Rebuild,
    ShardPosition,
    Verification,
    ViewDrift,
    ViewStatus,
)

__all__ = [
    "ENDED",
    "AggregateState",
    "Cancel",
    "Cancelled",
    "Claim",
    "ComparedCopy",
    "Conflict",
    "Counts",
    "DeadLetter",
    "DifferingRow",
    "DocumentFault",
    "Drifted",
    "Emitted",
    "Fault",
    "Health",
    "HistoryEntry",
    "Json",
    "Origin",
    "Owner",
    "Page",
    "Preflight",
    "Problem",
    "Projection",
    "ProjectionIntent",
    "Publication",
    "PublicationDetail",
    "Published",
    "Rebuild",
    "Reconciled",
    "Repair",
    "Resume",
    "Run",
    "RunDetail",
    "RunStatus",
    "ShardPosition",
    "Slot",
    "SlotDetail",
    "SourceReference",
    "Start",
    "Step",
    "Stimulus",
    "StimulusDetail",
    "Unpublish",
    "Unpublished",
    "Unserved",
    "Verification",
    "ViewDrift",
    "ViewStatus",
    "Wait",
    "Why",
    "WhyPrepared",
    "WhyReplaced",
]
