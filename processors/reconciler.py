"""Compares the rows of the trigger index with what the slots call for, and has repaired what differs (PRJ-05).

    each copy: read rows and position ─► fold the slots to that very position ─► compare, publication by publication
    what differs ─► RepairProjection, with the publication's standing and its slot's revision ─► publishing restates it
                                                     └► moved since: refused, and the next pass compares anew

Always true: rows are compared with the slots at exactly the position that the rows are at. So what only lags (a view
behind the journal, a candidate between prepare and activation) is right where it is, and never repaired. And nothing is
repaired here: what mends rows is an event of the publishing journal, which every copy folds where it comes.

Why a repetition is harmless: publishing restates what is so, so that a repair of rows that are right changes none.

What would surprise: nobody sees another process's memory, so each process compares the replica that it decides by
itself; the role `reconciler` adds the view in the data directory.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, Protocol, get_args

from interlock.domain.messages import RepairProjection
from interlock.domain.publishing.reconciliation.called import Called, called_for
from interlock.domain.publishing.reconciliation.events import Standing
from interlock.log.port import LogError
from interlock.processors.leisure import Leisure
from interlock.processors.ports import Ids
from interlock.processors.truth import Truth
from interlock.projections.compare import Difference, KeyedRow, differences

log = logging.getLogger(__name__)

ROWS_AT_ONCE: Final = 200
"""Rows that are read, and publications that are compared, before others on the loop have their turn, at the latest.
A pass over an index of 10,000 slots takes a second or two of CPU time, of which nobody may notice anything."""
LAG_S: Final = 2.0
"""How long a pass waits for a copy that is a moment behind another one; what is further behind has the next pass."""
LAG_LOOK_S: Final = 0.02
REPAIRS_AT_ONCE: Final = 50
"""Repairs that are asked for before the first of them is answered."""

DEFAULT_SHELL: Final = "default"
"""Whose shard is asked where a publication is gone: what it decides then is the same for every shell."""

Differs = Literal["missing", "foreign", "flipped", "changed"]
"""How a row differs from what is called for; flipped: its visibility, and nothing else."""
Outcome = Literal["found", "asked", "repaired", "refused"]
"""found: nothing was asked, as in a dry run · asked: publishing has not answered yet · repaired · refused: publication
or slot have moved since, and the next pass compares anew."""
CopyState = Literal["compared", "behind", "warming up", "stopped"]


class Held(NamedTuple):
    """The rows of a copy at one moment."""

    position: int
    """The append of the publishing journal that they are at."""
    rows: dict[str, list[KeyedRow]]
    """Publication → its rows, taken away as they are compared; each key begins with the table's name, and `values` with
    what is its visibility."""


class CannotCompare(Exception):
    """A copy has no rows that say anything now."""

    def __init__(self, state: CopyState, why: str) -> None:
        super().__init__(why)
        self.state: CopyState = state


class Copy(Protocol):
    """Rows of the trigger index, wherever they are kept."""

    @property
    def name(self) -> str:
        """What operators know it by."""
        ...

    @property
    def kind(self) -> str:
        """The view that it is a copy of."""
        ...

    async def held(self) -> Held:
        """Its rows at one moment. Raises `CannotCompare`."""
        ...

    def called(self, called: Called) -> list[KeyedRow]:
        """The rows that it should have of a publication."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The rows of one publication in one copy are not as its slot calls for."""

    holder: str
    kind: str
    publication_id: str
    shell: str
    """Of its slot; "" where the publication is gone, and nothing says any more whose it was."""
    definition_id: str
    slot_id: str
    standing: Standing
    revision: int
    position: int
    missing: int
    foreign: int
    flipped: int
    changed: int
    outcome: Outcome = "found"
    why: str = ""
    """Why it was refused."""

    @property
    def rows(self) -> int:
        """All rows that differ."""
        return sum(self.differences.values())

    @property
    def differences(self) -> dict[Differs, int]:
        """How many rows differ in each way."""
        return {"missing": self.missing, "foreign": self.foreign, "flipped": self.flipped, "changed": self.changed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A copy, and how far it could be compared."""

    holder: str
    kind: str
    state: CopyState
    position: int = 0
    publications: int = 0
    """Publications whose rows were compared."""
    rows: int = 0
    """Rows that it held."""
    why: str = ""
    """Why it was not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One pass."""

    reconciliation_id: str
    """Names what it had repaired, in the history; "" where it asked for nothing."""
    copies: tuple[Compared, ...]
    findings: tuple[Finding, ...]

    @property
    def rows(self) -> int:
        """Rows that differ, over all copies."""
        return sum(finding.rows for finding in self.findings)


Ask = Callable[[RepairProjection], Awaitable[tuple[Outcome, str]]]
"""Asks publishing for a repair: what came of it, and why not."""


class Reconciler:
    """The passes of one process; they take turns."""

    def __init__(self, truth: Truth, copies: Sequence[Copy], ask: Ask, ids: Ids) -> None:
        self.sweeps = 0
        """Passes that came to their end."""
        self.drift: dict[tuple[str, Differs], int] = {
            (copy.kind, difference): 0 for copy in copies for difference in get_args(Differs)
        }
        """View, and how rows differed → so many were found since the process began, repaired or not."""
        self._truth = truth
        self._copies = tuple(copies)
        self._ask = ask
        self._ids = ids
        self._turn = asyncio.Lock()

    async def run(self, interval_s: float) -> None:
        """A pass every so often, until it is cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self.sweep()
            except LogError as error:
                log.warning("the views are compared with the slots later: %s", error)

    async def sweep(self, *, repair: bool = True, requested_by: str = "") -> Sweep:
        """Compares every copy, and asks for the repair of what differs. Raises `LogError`."""
        async with self._turn:
            found: list[Finding] = []
            compared = [await self._compare(copy, held, found) for copy, held in await self._read()]
            identity = self._ids() if found and repair else ""
            sweep = Sweep(reconciliation_id=identity, copies=tuple(compared), findings=tuple(found))
            if found:
                self._tell(sweep)
            if found and repair:
                sweep = replace(sweep, findings=await self._repair(sweep, requested_by))
            self.sweeps += 1
            for finding in found:
                for difference, rows in finding.differences.items():
                    self.drift[finding.kind, difference] += rows
            return sweep

    # ---- comparing ----------------------------------------------------------------------------------------------

    async def _read(self) -> list[tuple[Copy, Held | CannotCompare]]:
        """All copies, those that are furthest behind first, since the truth only moves forward."""
        read = [(copy, await _held(copy)) for copy in self._copies]
        return sorted(read, key=lambda each: each[1].position if isinstance(each[1], Held) else 0)

    async def _compare(self, copy: Copy, held: Held | CannotCompare, found: list[Finding]) -> Compared:
        held = await self._reached(copy, held)
        if isinstance(held, CannotCompare):
            return Compared(holder=copy.name, kind=copy.kind, state=held.state, why=str(held))
        if held.position < self._truth.position:
            why = f"at append {held.position}, which is behind what was compared before; it only lags"
            return Compared(holder=copy.name, kind=copy.kind, state="behind", position=held.position, why=why)
        await self._truth.advance(held.position)
        shard = self._truth.shard
        rows = sum(map(len, held.rows.values()))
        publications = 0
        leisure = Leisure()
        for publication_id in sorted({*shard.publications, *held.rows}):
            called = called_for(shard, publication_id)
            # They are let go one by one, since all at once would take as long as a look at all of them.
            differ = list(differences(copy.called(called), sorted(held.rows.pop(publication_id, ()))))
            if differ:
                found.append(_finding(copy, called, held.position, differ))
            publications += 1
            if leisure.due or publications % ROWS_AT_ONCE == 0:
                await leisure.rest()
        return Compared(
            holder=copy.name,
            kind=copy.kind,
            state="compared",
            position=held.position,
            publications=publications,
            rows=rows,
        )

    async def _reached(self, copy: Copy, held: Held | CannotCompare) -> Held | CannotCompare:
        """Its rows once they are where the truth is, which only moves forward; or as they are, after a while."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LAG_S
        while isinstance(held, Held) and held.position < self._truth.position and loop.time() < deadline:
            await asyncio.sleep(LAG_LOOK_S)
            held = await _held(copy)
        return held

    # ---- repairing ----------------------------------------------------------------------------------------------

    async def _repair(self, sweep: Sweep, requested_by: str) -> tuple[Finding, ...]:
        ended: list[Finding] = []
        for some in _batches(sweep.findings, REPAIRS_AT_ONCE):
            ended += await asyncio.gather(*(self._ask_for(one, sweep.reconciliation_id, requested_by) for one in some))
        return tuple(ended)

    async def _ask_for(self, finding: Finding, identity: str, requested_by: str) -> Finding:
        message = RepairProjection(
            command_id=self._ids(),
            reconciliation_id=identity,
            shell=finding.shell or DEFAULT_SHELL,
            kind=finding.kind,
            publication_id=finding.publication_id,
            standing=finding.standing,
            revision=finding.revision,
            position=finding.position,
            holder=finding.holder,
            missing=finding.missing,
            foreign=finding.foreign,
            flipped=finding.flipped,
            changed=finding.changed,
            requested_by=requested_by,
        )
        outcome, why = await self._ask(message)
        return replace(finding, outcome=outcome, why=why)

    def _tell(self, sweep: Sweep) -> None:
        for finding in sweep.findings:
            log.warning(
                "%s differs from what the slots call for at append %d of publishing: publication %s is %s; "
                "rows missing %d, foreign %d, wrongly visible or invisible %d, changed %d (%s)",
                finding.holder,
                finding.position,
                finding.publication_id,
                finding.standing,
                finding.missing,
                finding.foreign,
                finding.flipped,
                finding.changed,
                f"reconciliation {sweep.reconciliation_id}" if sweep.reconciliation_id else "nothing is repaired",
            )


async def gathered(rows: Iterable[tuple[str, KeyedRow]]) -> dict[str, list[KeyedRow]]:
    """Rows by their publication, taken a few at a time; they have to be of one moment by themselves."""
    found: dict[str, list[KeyedRow]] = {}
    leisure = Leisure()
    for number, (publication_id, row) in enumerate(rows, 1):
        found.setdefault(publication_id, []).append(row)
        if leisure.due or number % ROWS_AT_ONCE == 0:
            await leisure.rest()
    return found


async def _held(copy: Copy) -> Held | CannotCompare:
    try:
        return await copy.held()
    except CannotCompare as error:
        return error


def _finding(copy: Copy, called: Called, position: int, differ: Sequence[Difference]) -> Finding:
    kinds = ["flipped" if _is_flipped(one) else one.kind for one in differ]
    return Finding(
        holder=copy.name,
        kind=copy.kind,
        publication_id=called.publication_id,
        shell=called.shell,
        definition_id=called.definition_id,
        slot_id=called.slot_id,
        standing=called.standing,
        revision=called.revision,
        position=position,
        missing=kinds.count("missing"),
        foreign=kinds.count("foreign"),
        flipped=kinds.count("flipped"),
        changed=kinds.count("changed"),
    )


def _is_flipped(difference: Difference) -> bool:
    """Whether its visibility is all that differs."""
    return difference.kind == "changed" and difference.expected[1:] == difference.found[1:]


def _batches(findings: Sequence[Finding], size: int) -> Iterator[Sequence[Finding]]:
    for start in range(0, len(findings), size):
        yield findings[start : start + size]
