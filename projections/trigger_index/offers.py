"""The rows of the trigger index that say how triggers are reached: routes of HTTP endpoints, and schedules.

Each belongs to a binding of the same publication, is prepared and visible with it, and is never authority by itself:
whoever matches a request or fires an occurrence asks the slot's publication (PUB-03, RTE-01, SCH-01). They lie in one
file with the bindings, so that a candidate is prepared, activated and removed in them all at once.
"""

from typing import Literal, NamedTuple

from interlock.domain.definitions.templates import TemplateFault, shape
from interlock.domain.publishing.publication.events import Binding
from interlock.projections.rows import Table
from interlock.projections.trigger_index.store import CandidateRow, State


class RouteRow(NamedTuple):
    """Where a publication is found by requests."""

    publication_id: str
    binding_id: str
    state: State
    shell: str
    definition_id: str
    slot_id: str
    node_id: str
    method: str
    template: str
    """As its author wrote it, with the names of its parameters."""
    shape: str
    """What it matches; two templates that differ only in names have one. "" where the template can't be read, which
    matches nothing."""


class ScheduleRow(NamedTuple):
    """When a publication is due. The instants themselves are the scheduling context's to claim, not a view's."""

    publication_id: str
    binding_id: str
    state: State
    shell: str
    definition_id: str
    slot_id: str
    node_id: str
    claim: str
    """With slot and instant it names an occurrence (SCH-02)."""
    kind: Literal["interval", "cron"]
    every_ms: int
    expression: str
    zone: str
    gap: Literal["shift", "skip"]
    overlap: Literal["first", "last", "both"]


class Offers(NamedTuple):
    """The routes and schedules of one publication."""

    routes: tuple[RouteRow, ...]
    schedules: tuple[ScheduleRow, ...]


ROUTES = Table("routes", RouteRow, ("publication_id", "binding_id"), indexes=(("shell", "state"),))
SCHEDULES = Table("schedules", ScheduleRow, ("publication_id", "binding_id"), indexes=(("shell", "state"),))


def route_row(candidate: CandidateRow, binding: Binding, state: State) -> RouteRow | None:
    """The row of a binding's route; None if it has none."""
    if binding.route is None:
        return None
    found = shape(binding.route.template)
    return RouteRow(
        publication_id=candidate.publication_id,
        binding_id=binding.binding_id,
        state=state,
        shell=candidate.shell,
        definition_id=candidate.definition_id,
        slot_id=candidate.slot_id,
        node_id=binding.node_id,
        method=binding.route.method,
        template=binding.route.template,
        shape="" if isinstance(found, TemplateFault) else found,
    )


def schedule_row(candidate: CandidateRow, binding: Binding, state: State) -> ScheduleRow | None:
    """The row of a binding's schedule; None if it has none."""
    schedule = binding.schedule
    if schedule is None:
        return None
    return ScheduleRow(
        publication_id=candidate.publication_id,
        binding_id=binding.binding_id,
        state=state,
        shell=candidate.shell,
        definition_id=candidate.definition_id,
        slot_id=candidate.slot_id,
        node_id=binding.node_id,
        claim=binding.claim,
        kind=schedule.kind,
        every_ms=schedule.every_ms,
        expression=schedule.expression,
        zone=schedule.zone,
        gap=schedule.gap,
        overlap=schedule.overlap,
    )
