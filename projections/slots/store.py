"""The rows of slots and their publications."""

from typing import NamedTuple

from interlock.domain.publishing.publication.state import Status
from interlock.projections.rows import Table


class SlotRow(NamedTuple):
    """A slot that has had an authority."""

    slot_id: str
    shell: str
    definition_id: str
    name: str
    revision: int
    """One more with each activation and each unpublish, from 1."""
    publication_id: str
    """The publication that has authority; "" if none has."""
    activated_at_ms: int
    """When its last authority was activated."""
    emptied_at_ms: int | None = None
    """When it was emptied; None while a publication has authority."""
    owner_kind: str = ""
    """Whose it is; "" for nobody's."""
    owner_id: str = ""


class PublicationRow(NamedTuple):
    """A publication. What has not happened is 0, "" or None."""

    publication_id: str
    command_id: str
    shell: str
    definition_id: str
    slot_id: str
    slot_name: str
    policy_source: str
    """Which policy named the slot: "request", "workflow" or "host"."""
    expected_revision: int
    """The slot revision that the attempt observed."""
    requested_by: str
    requested_at_ms: int
    status: Status
    definition_version: str = ""
    artifact_id: str = ""
    deadline_ms: int | None = None
    """When it fails if a projection has not answered; None before it is staged."""
    staged_at_ms: int | None = None
    revision: int = 0
    """The slot's revision that selected it."""
    position: int = 0
    """The append of the publishing journal that activated it; routing decides at it."""
    routing_shards: int = 0
    """How many have to decide at it before "active" is answered."""
    activated_at_ms: int | None = None
    served_at_ms: int | None = None
    """When every routing shard had reached it, and "active" was answered."""
    ended_at_ms: int | None = None
    """When it was retired, failed or superseded."""
    replaced_by: str = ""
    """The publication that took its place, if it is retired; "" if its slot was emptied."""
    unpublish_id: str = ""
    """The unpublish that emptied its slot, if one did."""
    failure: str = ""
    """The kind of refusal that it failed with."""
    reason: str = ""
    """Why it failed."""
    faults: str = ""
    """What was wrong with its document, as a JSON array; "" where nothing was."""
    conflicts: str = ""
    """Who had the claims that it needed, as a JSON array; "" where nobody had."""
    found_revision: int = 0
    """The revision to which it lost, if it is superseded."""
    restores: str = ""
    """The earlier publication that it restores; "" if it is of a document."""
    owner_kind: str = ""
    """Whose the slot is once it is activated; "" for nobody's."""
    owner_id: str = ""
    took_over: int = 0
    """1 where another owner was to be no obstacle."""
    source_reference_id: str = ""
    """The reference that was created with its activation."""
    triggers: str = ""
    """Its bindings with their routes and schedules, as a JSON array; "" before it is staged, and where it has none."""


class ProjectionRow(NamedTuple):
    """A projection that a publication requires."""

    publication_id: str
    kind: str
    """The view, such as "trigger-index"."""
    prepared_at_ms: int | None
    """None while it has not answered that its rows are prepared."""


class ReachedRow(NamedTuple):
    """A routing shard that decides at a publication's activation or later."""

    publication_id: str
    partition: int


SLOTS = Table("slots", SlotRow, ("slot_id",), indexes=(("shell", "definition_id", "name"),))
PUBLICATIONS = Table(
    "publications",
    PublicationRow,
    ("publication_id",),
    indexes=(
        ("requested_at_ms", "publication_id"),
        ("slot_id", "requested_at_ms", "publication_id"),
        ("definition_id", "requested_at_ms", "publication_id"),
        ("command_id",),
    ),
)
PROJECTIONS = Table("projections", ProjectionRow, ("publication_id", "kind"))
REACHED = Table("reached", ReachedRow, ("publication_id", "partition"))
TABLES = (SLOTS, PUBLICATIONS, PROJECTIONS, REACHED)
