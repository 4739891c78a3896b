"""Every view that the engine keeps."""

from typing import Final

from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.history.fold import VIEW as HISTORY
from interlock.projections.slots.fold import VIEW as SLOTS
from interlock.projections.stimuli.fold import VIEW as STIMULI
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.view import View

VIEWS: Final[tuple[View, ...]] = (TRIGGER_INDEX, SLOTS, STIMULI, EXECUTIONS, HISTORY)
