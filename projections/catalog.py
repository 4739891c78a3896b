"""Every view that there is, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from interlock.projections.executions import fold as executions
from interlock.projections.history import fold as history
from interlock.projections.slots import fold as slots
from interlock.projections.stimuli import fold as stimuli
from interlock.projections.trigger_index import fold as trigger_index
from interlock.projections.view import View

VIEWS: Mapping[str, View] = MappingProxyType(
    {view.name: view for view in (trigger_index.VIEW, slots.VIEW, stimuli.VIEW, executions.VIEW, history.VIEW)}
)
