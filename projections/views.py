"""Every view that the engine keeps."""

from typing import Final

from interlock.projections.slots.fold import VIEW as SLOTS
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.view import View

VIEWS: Final[tuple[View, ...]] = (TRIGGER_INDEX, SLOTS)
