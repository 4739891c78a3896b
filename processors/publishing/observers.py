"""Third parties that are told of a candidate once its rows are stored, and before it has authority (TRG-06).

    rows stored, invisible ─► every observer, one after the other ─► prepared ─► activated
                                        └─► one raises, or takes too long: the candidate fails, with its name

They run where the view is held, on the process's loop, beside everything else: an observer may wait for another system,
must not block, and may be told of one candidate several times, since a process that stops in between tells it again.
What was told may still come to nothing: another candidate may win the slot, or a deadline pass.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from interlock.domain.definitions.executable import Route, Trigger
from interlock.domain.definitions.providers import named, raised
from interlock.domain.definitions.schedules import schedule_of
from interlock.domain.messages import ProjectionAnswered
from interlock.projections.trigger_index.offers import RouteRow, ScheduleRow
from interlock.projections.trigger_index.query import TriggerIndex
from interlock.projections.trigger_index.store import BindingRow

log = logging.getLogger(__name__)

OBSERVE_S: Final = 10.0
"""How long one observer may take, in seconds; candidates wait for all views for `prepare_ms`."""

CALL_OFF_S: Final = 1.0
"""How long one that took too long may take to end, in seconds, before it is left to itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPublication:
    """A candidate whose rows are stored."""

    publication_id: str
    shell: str
    definition_id: str
    slot_id: str
    artifact_id: str
    triggers: tuple[Trigger, ...]
    """With routes and schedules; one node may have several, one for each claim."""


class PublicationObserver(Protocol):
    """Is told of each candidate before it has authority, and may stop it by raising."""

    @property
    def id(self) -> str:
        """Stable and not blank; names it where it fails."""
        ...

    async def prepared(self, publication: PreparedPublication) -> None:
        """Called at least once for each candidate. Whatever it raises fails the publish."""
        ...


async def observed(
    observers: Sequence[PublicationObserver], publication: PreparedPublication, *, within_s: float = OBSERVE_S
) -> str:
    """Tells every observer; "" if all took it, else why not, naming the one that didn't."""
    for observer in observers:
        # In a task of its own: what cancels that one is the observer's doing, and not the end of whoever tells it.
        telling = asyncio.create_task(_told(observer, publication), name=f"publication observer {named(observer)}")
        try:
            await asyncio.wait([telling], timeout=within_s)
            if not telling.done():
                await _call_off(telling)
                return f"publication observer {named(observer)!r} took longer than {within_s:g} s"
            if why := telling.result():
                return why
        finally:
            telling.cancel()
    return ""


async def _call_off(telling: asyncio.Task[str]) -> None:
    """Ends the telling of one observer, if it lets itself be ended: nobody waits for one that doesn't."""
    telling.cancel()
    await asyncio.wait([telling], timeout=CALL_OFF_S)
    if not telling.done():
        log.warning("%s goes on although it was called off; what comes of it is dropped", telling.get_name())


async def _told(observer: PublicationObserver, publication: PreparedPublication) -> str:
    """Tells one observer; "" if it took it, else what it raised."""
    try:
        await observer.prepared(publication)
    except BaseException as error:  # noqa: BLE001 - see `raised`
        return f"publication observer {named(observer)!r} raised {raised(error)}"
    return ""


def described(index: TriggerIndex, publication_id: str) -> PreparedPublication | None:
    """What observers are told of a publication, from its rows; None where it has none any more."""
    bindings = index.bindings(publication_id)
    if not bindings:
        return None
    first = bindings[0]
    offers = index.offers(publication_id)
    routes = {row.binding_id: row for row in offers.routes}
    schedules = {row.binding_id: row for row in offers.schedules}
    return PreparedPublication(
        publication_id=publication_id,
        shell=first.shell,
        definition_id=first.definition_id,
        slot_id=first.slot_id,
        artifact_id=first.artifact_id,
        triggers=tuple(_trigger(row, routes.get(row.binding_id), schedules.get(row.binding_id)) for row in bindings),
    )


def _trigger(row: BindingRow, route: RouteRow | None, schedule: ScheduleRow | None) -> Trigger:
    return Trigger(
        node_id=row.node_id,
        type=row.type,
        name=row.name,
        identity=row.identity,
        cardinality=row.cardinality,
        claim=row.claim,
        route=None if route is None else Route(method=route.method, template=route.template),
        schedule=None if schedule is None else schedule_of(schedule),
    )


class Observation:
    """The observers of a process at work: one task for each candidate that waits for an answer."""

    def __init__(
        self, observers: Sequence[PublicationObserver], describe: Callable[[str], PreparedPublication | None]
    ) -> None:
        """`describe` gives what observers are told of a publication."""
        self._observers = tuple(observers)
        self._describe = describe
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._ended = asyncio.Event()

    @property
    def under_way(self) -> bool:
        """Whether an observer is being waited for."""
        return any(not task.done() for task in self._tasks.values())

    def answers(self, pending: Sequence[ProjectionAnswered]) -> list[ProjectionAnswered]:
        """What may be answered now, of what the rows say; observers are told of what is new, once a process."""
        if not self._observers:
            return list(pending)
        waited_for = {answer.publication_id for answer in pending}
        for gone in self._tasks.keys() - waited_for:
            self._tasks.pop(gone).cancel()
        answers: list[ProjectionAnswered] = []
        for answer in pending:
            task = self._tasks.get(answer.publication_id)
            if task is None:
                task = self._tasks[answer.publication_id] = asyncio.create_task(self._tell(answer.publication_id))
            if task.done():
                why = task.result()
                answers.append(replace(answer, prepared=not why, reason=why))
        return answers

    async def news(self) -> None:
        """Returns when an observer has ended since the last call."""
        await self._ended.wait()
        self._ended.clear()

    def close(self) -> None:
        """Waits for nobody any more."""
        for task in self._tasks.values():
            task.cancel()

    async def _tell(self, publication_id: str) -> str:
        try:
            publication = self._describe(publication_id)
            return "" if publication is None else await observed(self._observers, publication)
        finally:
            self._ended.set()
