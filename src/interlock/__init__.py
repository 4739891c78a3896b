"""Interlock: an event-sourced workflow engine on a durable log.

`domain`, `projections`, `processors` and `schemas` are links to the folders of the same names at the top of the
repository: what a reader of the tree sees first is what a user imports as `interlock.domain` and so on (ADR 2).
Workflows are written with the names below.
"""

from interlock.activities import ActivityContext, activity
from interlock.workflow import Workflow, event

__all__ = ["ActivityContext", "Workflow", "activity", "event"]
