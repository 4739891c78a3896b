"""Answers about reconciliation: what of the trigger index is not as the slots call for, and what was repaired."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCopy:
    """A copy of the view, and how far it could be compared."""

    holder: str
    view: str
    state: Literal["compared", "behind", "warming up", "stopped"]
    """behind: it only lags, and the next pass compares it · stopped: it needs an operator, for it folds no repair."""
    position: int
    """The append of the publishing journal that its rows are at."""
    publications: int
    rows: int
    why: str
    """Why it was not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """The rows of one publication in one copy are not as its slot calls for."""

    holder: str
    view: str
    publication_id: str
    definition_id: str
    slot_id: str
    standing: Literal["requested", "prepared", "active", "gone"]
    """What the slot calls for: invisible rows (prepared), visible ones (active), none (requested, gone)."""
    revision: int
    """The slot's revision; 0 where the publication is gone."""
    position: int
    missing: int
    """Rows that were not there."""
    foreign: int
    """Rows that nobody called for."""
    flipped: int
    """Rows of the wrong visibility."""
    changed: int
    """Rows that differed in anything else."""
    outcome: Literal["found", "asked", "repaired", "refused"]
    """found: a dry run · asked: not answered yet · refused: it has moved since, and the next pass compares anew."""
    why: str
    """Why it was refused, or is not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """One pass over the copies that the answering process can see."""

    reconciliation_id: str
    """Names what it repaired (`reconciliation:<id>` in the history); "" where it asked for nothing."""
    dry_run: bool
    rows: int
    """Rows that were wrong, over all copies."""
    copies: tuple[ComparedCopy, ...]
    drifted: tuple[Drifted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The rows of a publication were wrong, and were stated anew."""

    reconciliation_id: str
    publication_id: str
    view: str
    holder: str
    """Whose rows they were."""
    definition_id: str
    slot_id: str
    revision: int
    standing: Literal["requested", "prepared", "active", "gone"]
    position: int
    """The append of the publishing journal at which rows and slot were compared."""
    missing: int
    foreign: int
    flipped: int
    changed: int
    requested_by: str
    """Who asked for the pass; "" for the periodic one."""
    at_ms: int
