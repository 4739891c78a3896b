"""The bindings of a publication: what its executable's triggers ask for, or what an earlier publication's did."""

from collections.abc import Iterable

from interlock.domain.definitions.executable import Route, Trigger
from interlock.domain.definitions.schedules import Recurrence, schedule_of
from interlock.domain.publishing.claims.events import Claim
from interlock.domain.publishing.publication.events import Binding, BindingRoute, BindingSchedule
from interlock.domain.sharding import binding_id


def bound(slot_id: str, publication_id: str, trigger: Trigger | Binding) -> Binding:
    """The binding of a trigger, by an id that no other publication has (TRG-05)."""
    return Binding(
        binding_id=binding_id(slot_id, publication_id, trigger.node_id, trigger.claim),
        node_id=trigger.node_id,
        type=trigger.type,
        name=trigger.name,
        identity=trigger.identity,
        cardinality=trigger.cardinality,
        claim=trigger.claim,
        route=_route(trigger.route),
        schedule=_schedule(trigger.schedule),
    )


def claims_of(triggers: Iterable[Trigger | Binding]) -> tuple[Claim, ...]:
    """What the triggers of a publication claim, before they are bound and after."""
    return tuple(
        Claim(claim=trigger.claim, cardinality=trigger.cardinality, node_id=trigger.node_id) for trigger in triggers
    )


def trigger_of(binding: Binding) -> Trigger:
    """The trigger that a binding was made of."""
    route, schedule = binding.route, binding.schedule
    return Trigger(
        node_id=binding.node_id,
        type=binding.type,
        name=binding.name,
        identity=binding.identity,
        cardinality=binding.cardinality,
        claim=binding.claim,
        route=Route(method=route.method, template=route.template) if route else None,
        schedule=schedule_of(schedule) if schedule else None,
    )


def told_binding(binding: Binding) -> dict[str, object]:
    """A binding as answers hold it."""
    told: dict[str, object] = {
        "nodeId": binding.node_id,
        "bindingId": binding.binding_id,
        "type": binding.type,
        "name": binding.name,
        "claim": binding.claim,
        "cardinality": binding.cardinality,
    }
    if route := binding.route:
        told["route"] = {"method": route.method, "template": route.template}
    if schedule := binding.schedule:
        told["schedule"] = {
            "kind": schedule.kind,
            "everyMs": schedule.every_ms,
            "expression": schedule.expression,
            "zone": schedule.zone,
            "gap": schedule.gap,
            "overlap": schedule.overlap,
        }
    return told


def _route(route: Route | BindingRoute | None) -> BindingRoute | None:
    return BindingRoute(method=route.method, template=route.template) if route else None


def _schedule(schedule: Recurrence | None) -> BindingSchedule | None:
    if schedule is None:
        return None
    return BindingSchedule(
        kind=schedule.kind,
        every_ms=schedule.every_ms,
        expression=schedule.expression,
        zone=schedule.zone,
        gap=schedule.gap,
        overlap=schedule.overlap,
    )
