"""Which types are stored: name ↔ class ↔ version ↔ schema ↔ fingerprint.

`STORED` is written out by hand, because a name that a refactoring changes would no longer be found in the log. The
files lie at `events/<context>/<Event>.v<N>.avsc` and `messages/<Message>.v<N>.avsc`; each stands alone (what it
nests is defined within it), so that a client needs no other. Every version ever used stays here; the newest is what
is written.

A new version: raise the number here, say `python -m interlock.schemas.draft`, and add an upcaster if Avro's rules
can't read the old version as the new one. `python -m interlock.schemas.check` tells what is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from interlock.domain import blob, messages, progress
from interlock.domain.executions.execution import events as execution
from interlock.domain.publishing.claims import events as claims
from interlock.domain.publishing.executable import events as executable
from interlock.domain.publishing.publication import events as publication
from interlock.domain.publishing.reconciliation import events as reconciliation
from interlock.domain.publishing.reference import events as reference
from interlock.domain.publishing.slot import events as slot
from interlock.domain.publishing.unpublish import events as unpublish
from interlock.domain.routing.dead_letter import events as dead_letter
from interlock.domain.routing.stimulus import events as stimulus
from interlock.domain.routing.wait import events as wait
from interlock.schemas.avro import Definition, fingerprint, parse
from interlock.schemas.errors import InvalidSchema


class Row(NamedTuple):
    """A type that records are made of."""

    name: str
    """The stored name, `<context>.<Name>`; in Avro `interlock.<context>.<Name>`."""
    type: type
    version: int = 1
    """The version that is written; all from 1 to it are read."""


# Names are storage: add rows and raise versions, never change a name or remove a row.
STORED: tuple[Row, ...] = (
    Row("publishing.PublicationRequested", publication.PublicationRequested),
    Row("publishing.PublicationStaged", publication.PublicationStaged),
    Row("publishing.ProjectionAskedAgain", publication.ProjectionAskedAgain),
    Row("publishing.ProjectionPrepared", publication.ProjectionPrepared),
    Row("publishing.PublicationActivated", publication.PublicationActivated),
    Row("publishing.RoutingShardReached", publication.RoutingShardReached),
    Row("publishing.PublicationServed", publication.PublicationServed),
    Row("publishing.PublicationRetired", publication.PublicationRetired),
    Row("publishing.PublicationFailed", publication.PublicationFailed),
    Row("publishing.PublicationSuperseded", publication.PublicationSuperseded),
    Row("publishing.ClaimsChanged", claims.ClaimsChanged),
    Row("publishing.ExecutableSaved", executable.ExecutableSaved),
    Row("publishing.SlotActivated", slot.SlotActivated),
    Row("publishing.SlotEmptied", slot.SlotEmptied),
    Row("publishing.SourceReferenceCreated", reference.SourceReferenceCreated),
    Row("publishing.SourceReferenceUsed", reference.SourceReferenceUsed),
    Row("publishing.SourceReferenceRetired", reference.SourceReferenceRetired),
    Row("publishing.SourceReferenceExpired", reference.SourceReferenceExpired),
    Row("publishing.Unpublished", unpublish.Unpublished),
    Row("publishing.UnpublishSuperseded", unpublish.UnpublishSuperseded),
    Row("publishing.UnpublishShardReached", unpublish.UnpublishShardReached),
    Row("publishing.UnpublishServed", unpublish.UnpublishServed),
    Row("publishing.ProjectionRepaired", reconciliation.ProjectionRepaired),
    Row("routing.StimulusRouted", stimulus.StimulusRouted),
    Row("routing.StimulusMatched", stimulus.StimulusMatched),
    Row("routing.StimulusReturned", stimulus.StimulusReturned),
    Row("routing.StimulusExpired", stimulus.StimulusExpired),
    Row("routing.WaitRegistered", wait.WaitRegistered),
    Row("routing.WaitTaken", wait.WaitTaken),
    Row("routing.WaitWithdrawn", wait.WaitWithdrawn),
    Row("routing.StimulusRejected", dead_letter.StimulusRejected),
    Row("executions.ExecutionStarted", execution.ExecutionStarted),
    Row("executions.ActivityCompleted", execution.ActivityCompleted),
    Row("executions.ActivityFaulted", execution.ActivityFaulted),
    Row("executions.BookmarkCreated", execution.BookmarkCreated),
    Row("executions.BookmarkConsumed", execution.BookmarkConsumed),
    Row("executions.BookmarkExpired", execution.BookmarkExpired),
    Row("executions.TimerSet", execution.TimerSet),
    Row("executions.TimerFired", execution.TimerFired),
    Row("executions.ExecutionUnserved", execution.ExecutionUnserved),
    Row("executions.CancelRequested", execution.CancelRequested),
    Row("executions.ExecutionCancelled", execution.ExecutionCancelled),
    Row("executions.ExecutionFaulted", execution.ExecutionFaulted),
    Row("executions.ExecutionCompleted", execution.ExecutionCompleted),
    Row("executions.CheckpointsCoalesced", execution.CheckpointsCoalesced),
    Row("messages.Publish", messages.Publish),
    Row("messages.Restore", messages.Restore),
    Row("messages.Unpublish", messages.Unpublish),
    Row("messages.StartTestRun", messages.StartTestRun),
    Row("messages.ProjectionAnswered", messages.ProjectionAnswered),
    Row("messages.RoutingReached", messages.RoutingReached),
    Row("messages.RepairProjection", messages.RepairProjection),
    Row("messages.RouteStimulus", messages.RouteStimulus),
    Row("messages.RejectStimulus", messages.RejectStimulus),
    Row("messages.RegisterWait", messages.RegisterWait),
    Row("messages.WithdrawWait", messages.WithdrawWait),
    Row("messages.ResumeDeclined", messages.ResumeDeclined),
    Row("messages.DecideAt", messages.DecideAt),
    Row("messages.StartExecution", messages.StartExecution),
    Row("messages.ResumeExecution", messages.ResumeExecution),
    Row("messages.CancelExecution", messages.CancelExecution),
    Row("messages.Reply", messages.Reply),
    Row("messages.Progress", progress.Progress),
    Row("messages.BlobReference", blob.BlobReference),
)

NESTED: Mapping[str, type] = {
    "messages.Origin": messages.Origin,
    "messages.Owner": messages.Owner,
    "publishing.Binding": publication.Binding,
    "publishing.BindingRoute": publication.BindingRoute,
    "publishing.BindingSchedule": publication.BindingSchedule,
    "publishing.Claim": claims.Claim,
    "publishing.ClaimConflict": publication.ClaimConflict,
    "publishing.DocumentFault": publication.DocumentFault,
    "routing.Started": stimulus.Started,
    "routing.Resumed": stimulus.Resumed,
}
"""Types that only occur within others; they have no file and no version of their own."""

NAMESPACE = "interlock."
"""What stands before a stored name in Avro."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One version of one stored type."""

    name: str
    version: int
    definition: Definition
    """As it stands in the file, documentation included."""
    fingerprint: bytes
    """CRC-64-AVRO of its parsing canonical form, the 8 bytes as single-object encoding carries them."""


class Catalog:
    """The stored types with all their schemas. Raises `InvalidSchema` where a file is missing or no schema."""

    def __init__(self, rows: Sequence[Row], nested: Mapping[str, type], root: Traversable) -> None:
        """Reads the files of `rows` below `root`."""
        self.rows = {row.name: row for row in rows}
        self.types = {name: cls for cls, name in full_names(rows, nested).items()}
        """Full Avro name → class, of every record that may occur."""
        self._schemas = {
            row.name: tuple(_read(row.name, version, root) for version in range(1, row.version + 1)) for row in rows
        }

    def versions(self, name: str) -> tuple[Schema, ...]:
        """The schemas of a type, version 1 first."""
        return self._schemas[name]

    def newest(self, name: str) -> Schema:
        """The schema that records of a type are written with."""
        return self._schemas[name][-1]


@cache
def catalog() -> Catalog:
    """The catalogue of this release, read from the package once."""
    return Catalog(STORED, NESTED, files("interlock.schemas"))


def full_names(rows: Sequence[Row], nested: Mapping[str, type]) -> dict[type, str]:
    """Class → full Avro name, of every record that may occur."""
    names = {cls: NAMESPACE + name for name, cls in nested.items()}
    return names | {row.type: NAMESPACE + row.name for row in rows}


def schema_path(name: str, version: int) -> str:
    """Where a schema lies below the package: `executions.TimerSet` → `events/executions/TimerSet.v1.avsc`."""
    context, _, bare = name.partition(".")
    folder = context if context == "messages" else f"events/{context}"
    return f"{folder}/{bare}.v{version}.avsc"


def _read(name: str, version: int, root: Traversable) -> Schema:
    path = schema_path(name, version)
    try:
        text = root.joinpath(path).read_text("utf-8")
    except OSError as error:
        raise InvalidSchema(
            f"expected the schema of {name} version {version} at schemas/{path}, found none;"
            " `python -m interlock.schemas.draft` writes the newest version's"
        ) from error
    definition = parse(text, f"schemas/{path}")
    if (found := f"{definition.get('namespace')}.{definition.get('name')}") != NAMESPACE + name:
        raise InvalidSchema(f"expected a record {NAMESPACE + name} in schemas/{path}, found {found}")
    return Schema(name=name, version=version, definition=definition, fingerprint=fingerprint(definition))
