"""A rehearsal of workflows: the whole engine in a test, where days pass in milliseconds and things break on demand.

    def test_an_unpaid_order_is_given_up() -> None:
        with Rehearsal("shop.orders") as stage:
            stage.publish(orders)
            run_id = stage.start("order.placed", {"order_id": "o1"})
            stage.advance(days=2)
            assert stage.run(run_id).run.status == "faulted"

It is production's composition (every role, the API, the client of the SDK) on a log in memory. One seed gives one
order of events; another seed gives another that may come as well.

What would surprise: time stands still while the test itself works. It passes while a method of the rehearsal runs, as
far as the engine has something to do, and by `advance`. Each method returns when the engine has come to rest.
"""

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final, Literal, Self, TypeVar

import httpx

from interlock.activities import Activities, AnyActivity, adapter_of
from interlock.log.faults import FaultRates
from interlock.log.port import LogError
from interlock.sdk.client import ApiError, Client
from interlock.sdk.types import ENDED, Emitted, HistoryEntry, Published, Run, RunDetail, Slot, StimulusDetail
from interlock.targets import collect, load_target
from interlock.testing.cast import Cast, Part
from interlock.testing.stage import Stage, settings_of
from interlock.testing.virtual_time import SeededLoop
from interlock.testing.waits import instant, waits_for
from interlock.workflow import Event, Workflow

T = TypeVar("T")

QUIET_S: Final = 0.1
"""The engine is at rest when the log has taken nothing for so long."""
REST_MAX_S: Final = 600.0
"""After how much virtual time an engine that never comes to rest is given up."""
ROUTED_MAX_S: Final = 60.0
"""How long a stimulus, and a publish, may take with faults."""
EMITS_MAX: Final = 20
"""How often a stimulus is said that faults leave in doubt."""


class Unfinished(AssertionError):
    """Something is not as far as the test expected; the message says what it waits for."""


class Rehearsal:
    """The engine with an author's workflows, to be used in a `with`, or closed."""

    def __init__(
        self,
        *apps: ModuleType | str | Workflow,
        seed: int | str = 0,
        checkpoints: Literal["immediate", "coalesced"] = "immediate",
        faults: FaultRates | None = None,
    ) -> None:
        """`apps` are what `--app` takes: modules, or their names; or workflows, whose activities are taken.

        `checkpoints` is the setting of that name, and `faults` how often the log fails the engine from the beginning.
        Raises what the loading of apps raises.
        """
        self._cast = Cast(_activities(apps))
        self._runner = asyncio.Runner(loop_factory=lambda: SeededLoop(seed))
        self._folder = tempfile.TemporaryDirectory(prefix="interlock-rehearsal-")
        self._documents: dict[str, str] = {}
        """Publication → its document."""
        self._ids = random.Random(f"client {seed}")
        settings = settings_of(Path(self._folder.name), checkpoints)
        try:
            self._stage = self._do(_made(lambda: Stage(self._cast, settings, seed)))
            self.client = Client(
                "http://rehearsal",
                transport=_OnLoop(self._do, self._stage),
                new_id=self._new_id,
                now_s=self._runner.get_loop().time,
            )
            """The SDK's client of this engine's API: whatever the methods here don't do. It doesn't wait until the
            engine is at rest; `settle` does."""
            self._do(self._stage.start())
            self._rest()
            if faults is not None:
                self.storm(faults)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine and forgets everything."""
        try:
            if hasattr(self, "_stage"):
                self._stage.weather.rates = FaultRates()
                self._do(self._stage.close())
        finally:
            self._runner.close()
            self._folder.cleanup()

    # ---- what a test does ---------------------------------------------------------------------------------------

    def publish(self, what: Workflow | str, *, slot: str | None = None) -> Published:
        """Lets a definition take authority: a workflow, or a target such as "shop.orders:orders" or a file.

        Raises `ApiError` where it is refused, `Unfinished` where it does not become active.
        """
        document = json.dumps(what.document()) if isinstance(what, Workflow) else load_target(what)
        published = self.client.publish(document, slot=slot, wait_s=ROUTED_MAX_S)
        self._documents[published.publication_id] = document
        if published.status != "active":
            missing = "; ".join((*published.missing, *self._problems()))
            raise Unfinished(f"expected the publication to become active, found that this is missing: {missing}")
        self._rest()
        return published

    def emit(
        self,
        event: Event | str,
        data: object = None,
        *,
        key: str | None = None,
        correlation: str | None = None,
        ttl: str | None = None,
        deliver: str | None = None,
    ) -> StimulusDetail:
        """Emits an event and returns what it did. `data` is JSON, or what annotations may name (a pydantic model, a
        dataclass); `key` is its idempotency key, and the others are as in the guide on stimuli.

        Where a fault leaves open whether it was taken, it is said again. Raises `ApiError` where it is not taken,
        `Unfinished` where it is not routed.
        """
        name = event.name if isinstance(event, Event) else event
        emitted = self._taken(
            partial(
                self.client.emit,
                "Event",
                name,
                data=_plain({} if data is None else data),
                idempotency_key=key,
                correlation=correlation,
                ttl=ttl,
                deliver=deliver,
                request_id=self._new_id(),
            )
        )
        try:
            self.client.stimulus(emitted.stimulus_id, wait_s=ROUTED_MAX_S)
        except ApiError as error:
            problems = "; ".join((error.message, *self._problems()))
            raise Unfinished(f"expected {name!r} to be routed within {ROUTED_MAX_S:g} s, found: {problems}") from error
        self._rest()
        return self.client.stimulus(emitted.stimulus_id)

    def start(self, event: Event | str, data: object = None, *, key: str | None = None) -> str:
        """Emits an event that has to start exactly one run, and returns the run's id. Raises `Unfinished`."""
        emitted = self.emit(event, data, key=key)
        if len(emitted.starts) != 1:
            raise Unfinished(
                f"expected {emitted.stimulus.name!r} to start one run, found that it started {len(emitted.starts)} "
                f"and is {emitted.stimulus.outcome}; is a workflow published that it triggers? {self._authorities()}"
            )
        return emitted.starts[0].execution_id

    def run(self, run_id: str) -> RunDetail:
        """A run as it is now."""
        return self.client.run(run_id)

    def ended(self, run_id: str, *, within: timedelta = timedelta(minutes=1)) -> RunDetail:
        """Lets time pass until a run has ended, and returns it. Raises `Unfinished`, with what it waits for."""
        found = self.client.run(run_id, wait_s=within.total_seconds())
        if found.run.status not in ENDED:
            raise Unfinished(f"expected run {run_id} to end within {within}, found that it {self._waits_for(found)}")
        self._rest()
        return self.client.run(run_id)

    def unfinished(self) -> dict[str, str]:
        """Each run that has not ended → what it waits for, in words."""
        found = {run.execution_id for status in ("running", "waiting", "cancelling") for run in self._runs(status)}
        return {run_id: self._waits_for(self.client.run(run_id)) for run_id in sorted(found)}

    def history(self, aggregate: str) -> tuple[HistoryEntry, ...]:
        """Every event of a run, a stimulus, a publication (by its id) or a slot (`definition/slot`), in order."""
        found: list[HistoryEntry] = []
        after: str | None = None
        while True:
            page = self.client.history(aggregate, after=after)
            found += page.items
            if (after := page.next) is None:
                return tuple(found)

    # ---- time ---------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The engine's time, in UTC. It begins at the same instant in every rehearsal."""
        return datetime.fromtimestamp(self._stage.clock.now_ms() / 1000, UTC)

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Lets time pass; whatever is due meanwhile happens when it is due."""
        duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        if duration < timedelta(0):
            raise ValueError(f"expected time to pass forwards, found {duration}")
        self._do(asyncio.sleep(duration.total_seconds()))
        self._rest()

    def settle(self) -> None:
        """Lets the engine come to rest: until nothing more happens unless time passes or somebody acts."""
        self._rest()

    # ---- what goes wrong ------------------------------------------------------------------------------------------

    def activity(self, which: AnyActivity | str) -> Part:
        """One of the activities, to break it, to let another function stand in, and to see how it was called."""
        return self._cast.part(which if isinstance(which, str) else which.name)

    def crash(self) -> None:
        """The engine's process dies: nothing that it was about to do happens. `restart` brings another."""
        self._do(self._stage.crash())

    def restart(self) -> None:
        """Starts the engine on the same log; after a crash, or in place of the one that runs, which dies."""

        async def again() -> None:
            await self._stage.crash()
            while True:
                try:
                    await self._stage.start()
                except LogError:  # the storm that the test asked for
                    await self._stage.close()
                    await asyncio.sleep(1.0)
                else:
                    return

        self._do(again())
        self._rest()

    def storm(self, rates: FaultRates) -> None:
        """From now on the log fails the engine so often."""
        self._stage.weather.rates = rates

    def calm(self) -> None:
        """From now on the log fails nobody, and the engine comes to rest."""
        self._stage.weather.rates = FaultRates()
        self._rest()

    # ---- within ---------------------------------------------------------------------------------------------------

    def _do(self, work: Coroutine[object, object, T]) -> T:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            work.close()
            raise TypeError("expected a rehearsal in a plain function, found it in a coroutine: write `def test_…`")
        return self._runner.run(work)

    def _new_id(self) -> str:
        return f"{self._ids.getrandbits(128):032x}"

    def _taken(self, emit: Callable[[], Emitted]) -> Emitted:
        """What a client does that doesn't know whether its stimulus was taken: says it again, under the same id."""
        for _ in range(EMITS_MAX - 1):
            try:
                return emit()
            except ApiError as error:
                if error.kind != "unavailable":
                    raise
        return emit()

    def _rest(self) -> None:
        engine = self._stage.engine
        if engine is None:
            return
        self._do(self._at_rest())
        if faults := engine.faults():
            raise Unfinished("expected an engine without faults, found: " + "; ".join(faults))

    def _problems(self) -> list[str]:
        """Why the engine can't do what it should, in words."""
        engine = self._stage.engine
        return [] if engine is None else [*engine.faults(), *engine.waiting()]

    async def _at_rest(self) -> None:
        stage, loop = self._stage, asyncio.get_running_loop()
        assert stage.engine is not None
        deadline = loop.time() + REST_MAX_S
        while True:
            landed = stage.landed
            await asyncio.sleep(QUIET_S)
            waiting = stage.engine.waiting()
            if landed == stage.landed and not waiting:
                return
            if loop.time() > deadline:
                raise Unfinished(
                    f"expected the engine to come to rest within {REST_MAX_S:g} s, found that it still works"
                    + "".join(f"; {problem}" for problem in waiting)
                )

    def _runs(self, status: str) -> Iterator[Run]:
        after: str | None = None
        while True:
            page = self.client.runs(status=status, after=after)
            yield from page.items
            if (after := page.next) is None:
                return

    def _waits_for(self, detail: RunDetail) -> str:
        document = self._documents.get(detail.run.publication_id)
        sentence = waits_for(detail, document, self._cast.under_way(detail.run.execution_id))
        return f"{sentence} (it is {instant(self._stage.clock.now_ms())})"

    def _authorities(self) -> str:
        published = ", ".join(slot.definition_id for slot in self._slots()) or "none"
        return f"Published are: {published}."

    def _slots(self) -> Iterator[Slot]:
        after: str | None = None
        while True:
            page = self.client.slots(after=after)
            yield from page.items
            if (after := page.next) is None:
                return


class _OnLoop(httpx.BaseTransport):
    """Takes the network's place: the API answers on the virtual loop."""

    def __init__(self, do: Callable[[Coroutine[object, object, httpx.Response]], httpx.Response], stage: Stage) -> None:
        self._do = do
        self._stage = stage

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._do(self._stage.answer(request))


async def _made(make: Callable[[], T]) -> T:
    """What can only be made on a running loop."""
    return make()


def _activities(apps: tuple[ModuleType | str | Workflow, ...]) -> Activities:
    if not apps:
        raise ValueError("expected a module, its name, or a workflow, found none; a rehearsal needs what it plays")
    found: dict[int, AnyActivity] = {}
    for app in apps:
        presented = app.activities() if isinstance(app, Workflow) else collect(app).presented
        found |= {id(each): each for each in presented}
    return Activities(found.values())


def _plain(data: object) -> object:
    """A value as JSON's own types."""
    return adapter_of(type(data)).dump_python(data, mode="json", by_alias=True)
