"""One process of the engine: starts what its roles need, watches it, and ends it in order.

    start: topics there and safe? clock near the log's? ─► schemas ─► views ─► replica ─► shards, ingress, answers
    stop:  no new work ─► turns and appends finish ─► promises are delivered ─► groups are left ─► the log is closed

The parts are independent tasks. One that fails by an outage goes on by itself; one that fails for good is a fault,
which `/health/live` tells, and the others go on.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock.domain.definitions.providers import PROVIDERS, TriggerProvider
from interlock.domain.executions.execution.state import ExecutionState
from interlock.domain.publishing.checks import PublicationValidator
from interlock.domain.publishing.shard import PublishingShard
from interlock.log.port import NotNow, Refused, Shard, Unavailable
from interlock.processors.executions.handler import ExecutionsHandler, ExecutionsOptions
from interlock.processors.executions.invoker import Invoker
from interlock.processors.ingress import Ingress
from interlock.processors.ownership import Handler, Ownership
from interlock.processors.ports import Bounds, Clock, ClockOff, Codec, Ids, SnapshotStore, Topics
from interlock.processors.publishing.handler import PublishingHandler, PublishingOptions
from interlock.processors.publishing.observers import Observation, PublicationObserver, described
from interlock.processors.publishing.preparation import Preparation
from interlock.processors.reconciler import Reconciler
from interlock.processors.replica import AuthorityReplica
from interlock.processors.routing.handler import RoutingHandler
from interlock.processors.snapshots import Keeper
from interlock.processors.truth import Truth
from interlock.projections.host import ViewHost
from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.trigger_index.holder import TriggerIndexHolder
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from interlock.projections.view import View
from interlock.projections.views import VIEWS
from interlock.runtime.backend import Backend
from interlock.runtime.clock import ClockGuard
from interlock.runtime.gateway import Gateway
from interlock.runtime.host import ShardHost
from interlock.runtime.rebuilds import RebuildDesk
from interlock.runtime.reconciling import answered, reconciler, unanswered
from interlock.runtime.roles import VIEWS_OF_PREPARATION, Role
from interlock.runtime.settings import Settings
from interlock.runtime.topics import schemas_of, topic_faults, topic_specs, topics_of
from interlock.runtime.unserved import UnservedRun, tell_unserved
from interlock.runtime.verifications import VerifyDesk
from interlock.schemas.states import StateFormat

log = logging.getLogger(__name__)

CLOCK_WAIT_S = 10.0
"""How long a log may take to tell its time at the start; a new topic of Kafka has a leader within a second or two."""
CLOCK_RETRY_S = 0.2


class Unfit(Exception):
    """This process must not start on this log; the message says what is wrong and what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an engine is made of, beside its settings; production's by `interlock.runtime.compose`, or a test's."""

    backend: Backend
    codec: Codec
    clock: Clock
    ids: Ids
    invoker: Invoker
    chance: random.Random
    bounds: Bounds
    snapshots: SnapshotStore | None = None
    """Where is kept what was folded, so that the next start is fast; None where every start folds all journals."""
    providers: Sequence[TriggerProvider] = PROVIDERS
    """Who describes the triggers of documents; the same in every process."""
    validators: Sequence[PublicationValidator] = ()
    """Who has a word in what is published; the same in every process."""
    observers: Sequence[PublicationObserver] = ()
    """Who is told of a candidate before it has authority, where the trigger index is held."""


class Engine:
    """A process with some roles."""

    def __init__(self, settings: Settings, roles: Sequence[Role], parts: Parts) -> None:
        self.settings = settings
        self.roles = tuple(roles)
        self.topics: Topics = topics_of(settings)
        self.parts = parts
        self.hosts: list[ShardHost] = []
        self.views: dict[str, ViewHost] = {}
        """The views that this process holds, by name."""
        self.publishing: PublishingShard | None = PublishingShard() if "api" in self.roles else None
        """All of publishing as the replica knows it, where preflights are asked for; else None."""
        self.replica = AuthorityReplica(
            parts.backend.log, self.topics.journal("publishing", 0), parts.codec, whole=self.publishing
        )
        self.schemas = schemas_of(settings, parts.backend.log)
        self.gateway = Gateway(parts.backend.log, parts.codec, self.topics)
        self.ingress: Ingress | None = None
        self._clock = ClockGuard(parts.clock, parts.backend.admin, settings.max_clock_skew_ms)
        self._executions: dict[int, ExecutionsHandler] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._following: asyncio.Task[None] | None = None
        """The task of the replica."""
        self._faults: list[str] = []
        self.ending = False
        """Whether its parts may end: set by `close`, or by who ends a process otherwise, such as a simulated death."""
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self.reconciler: Reconciler | None = self._make_reconciler()
        """Compares the rows that this process can see with the slots; None where it sees none that anybody asks for."""

    # ---- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns when everything is under way; `waiting` tells when it serves.

        Raises `Unfit`, `ViewHeld`, `StoreAway`, and what the log raises.
        """
        await self._check_log()
        await self._register_schemas()
        if "projector" in self.roles:
            await self._start_views()
        await self._start_replica()
        if "publishing" in self.roles:
            await self._start_shards("publishing", lambda partition: PublishingHandler(self._publishing_options()))
        if "routing" in self.roles:
            await self._start_shards("routing", self._routing_handler)
            await self._start_ingress()
        if "executions" in self.roles:
            await self._start_shards("executions", self._executions_handler)
            self._run("unserved runs", tell_unserved(self.unserved, self.parts.clock, look_s=self.parts.bounds.look_s))
        if "api" in self.roles:
            self._run("answers", self.gateway.run())
        if self.reconciler is not None and {"routing", "reconciler"} & {*self.roles}:
            self._run("reconciler", self.reconciler.run(self.settings.reconcile_s))

    async def close(self) -> None:
        """Ends in order: first what takes new work, then the shards, then the views."""
        self.ending = True
        # A shard's last turn may wait for the replica, which therefore follows until they have ended.
        await self._end([task for task in self._tasks if task is not self._following])
        await self._end(self._tasks)
        await self.replica.close()
        for close in reversed(self._closers):
            await close()
        for view in self.views.values():
            await view.close()
        await self.parts.backend.close()

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ---- health -----------------------------------------------------------------------------------------------

    def faults(self) -> list[str]:
        """What stands still until an operator acts; a process with any is not live."""
        found = list(self._faults)
        for host in self.hosts:
            found += host.faults()
        found += [view.fault for view in self.views.values() if view.fault]
        if self.replica.fault is not None:
            found.append(f"replica of publishing: {self.replica.fault}")
        return found

    def waiting(self) -> list[str]:
        """What has to come before the process serves all that is asked of it; [] when it is ready."""
        found = [problem for host in self.hosts for problem in host.waiting()]
        for name, view in self.views.items():
            if not view.caught_up:
                found.append(view.error or f"view {name} is warming up")
            elif view.unwritten:
                found.append(f"view {name} waits: {view.unwritten}")
        if not self.replica.warm:
            found.append("the replica of publishing is warming up")
        return found + self._late()

    def _late(self) -> list[str]:
        """What of this process's work has waited for too long: it goes on, but by far not as fast as more comes."""
        now_ms, bound_s = self.parts.clock.now_ms(), self.settings.backlog_max_s
        # One that warms up has old records to take in, and says so itself.
        views = {name: view for name, view in self.views.items() if view.caught_up}
        oldest = {f"view {name} has not taken in a record": view.oldest_ms for name, view in views.items()}
        for host in self.hosts:
            for partition, waiting in host.undelivered().items():
                oldest[f"{host.context}/{partition} has not delivered an intent"] = waiting.oldest_ms
        return [
            f"{what} of {(now_ms - since_ms) / 1000:.1f} s ago: expected none older than backlog_max_s = {bound_s:g} s"
            for what, since_ms in oldest.items()
            if since_ms is not None and now_ms - since_ms > bound_s * 1000
        ]

    def unserved(self) -> list[UnservedRun]:
        """The runs of this process's shards whose next activity it has no code of."""
        processors = {
            partition: each
            for host in self.hosts
            if host.context == "executions"
            for partition, each in host.processors.items()
        }
        states = [
            handler.shard.find(execution_id)
            for partition, handler in self._executions.items()
            if partition in processors and processors[partition].serving
            for execution_id in handler.shard.unserved
        ]
        return [
            UnservedRun(state.started.execution_id, state.unserved.activity, state.unserved.at_ms)
            for state in states
            if isinstance(state, ExecutionState) and state.unserved is not None
        ]

    # ---- starting ---------------------------------------------------------------------------------------------

    async def _check_log(self) -> None:
        admin, specs = self.parts.backend.admin, topic_specs(self.settings)
        if self.parts.backend.makes_topics:
            made = await admin.create(specs)
            if made:
                log.info("made the topics %s", ", ".join(made))
        faults = await topic_faults(admin, self.settings)
        if faults:
            lines = [
                f"{one.topic}: {one.setting}: expected {one.expected}, found {one.found}; {one.remedy}"
                for one in faults
            ]
            raise Unfit("\n".join(["this log could lose journals, or shards would move:", *lines]))
        await self._check_clock()

    async def _register_schemas(self) -> None:
        """Before anything is written with them. Raises `Unfit` where this process may not, and as the log does."""
        try:
            registered = await self.schemas.register(self.parts.codec.schemas())
        except NotNow:
            raise
        except Refused as error:
            raise Unfit(
                f"expected to register the schemas of this release in {self.schemas.name} before anything is written "
                f"with them, found {error}; let this user write to that topic, or say `interlock topics create` as one "
                "who may"
            ) from error
        if registered:
            log.info("registered %d schemas, such as %s", len(registered), registered[0])

    async def _check_clock(self) -> None:
        """A topic that was made a moment ago may have no leader yet, so the log is asked for some time. Raises `Unfit`,
        `Unavailable`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CLOCK_WAIT_S
        while True:
            try:
                return await self._clock.check()
            except ClockOff as error:
                raise Unfit(str(error)) from error
            except Unavailable:
                if loop.time() >= deadline:
                    raise
            await asyncio.sleep(CLOCK_RETRY_S)

    async def _start_views(self) -> None:
        directory = self.settings.data / "views"
        for view in VIEWS:
            host = self._view_host(view, directory)
            await host.start()
            self.views[view.name] = host
        index = self.views[TRIGGER_INDEX.name]
        rows = SqliteTriggerIndex(ViewReader(directory, TRIGGER_INDEX))
        holder = TriggerIndexHolder(index)
        preparation = Preparation(
            index,
            holder.pending_answers,
            wire=self.parts.backend.log,
            codec=self.parts.codec,
            topics=self.topics,
            observation=Observation(self.parts.observers, lambda identity: described(rows, identity)),
        )
        self._run("preparation of triggers", preparation.run())
        self._run(
            "rebuilds", RebuildDesk(directory, self.views, self.parts.clock, look_s=self.parts.bounds.look_s).run()
        )
        self._run(
            "verifications", VerifyDesk(directory, self.views, self.parts.clock, look_s=self.parts.bounds.look_s).run()
        )

    def _view_host(self, view: View, directory: Path) -> ViewHost:
        backend = self.parts.backend
        return ViewHost(
            view,
            directory,
            log=backend.log,
            topic_ids=backend.admin,
            codec=self.parts.codec,
            shards=self.shards_of(view),
        )

    def shards_of(self, view: View) -> list[Shard]:
        """The shards of the journals that a view is folded from."""
        return [
            self.topics.journal(context, partition)
            for context in view.contexts
            for partition in range(self.topics.partitions[context])
        ]

    def _make_reconciler(self) -> Reconciler | None:
        if not {"routing", "reconciler", "api"} & {*self.roles}:
            return None
        parts, wire = self.parts, self.parts.backend.log
        truth = Truth(wire, self.topics.journal("publishing", 0), parts.codec, wait_s=parts.bounds.read_wait_s)
        self._closers.append(truth.close)
        sees_view = {"reconciler", "api"} & {*self.roles}
        return reconciler(
            truth,
            self.replica,
            ViewReader(self.settings.data / "views", TRIGGER_INDEX) if sees_view else None,
            answered(self.gateway) if "api" in self.roles else unanswered(wire, parts.codec, self.topics),
            ids=parts.ids,
            topics=self.topics,
        )

    async def _start_replica(self) -> None:
        journal = self.topics.journal("publishing", 0)
        name = "replica" if self.publishing is None else "replica-whole"
        topic_id = await self.parts.backend.admin.topic_id(journal.topic)
        self._following = self._run(
            "replica", self.replica.run(self._keeper(name, self.replica.form, journal, topic_id))
        )

    def _keeper(self, name: str, form: StateFormat, journal: Shard, topic_id: str, settings: str = "") -> Keeper | None:
        if self.parts.snapshots is None:
            return None
        records_min = self.parts.bounds.snapshot_records
        return Keeper(
            self.parts.snapshots,
            name,
            form,
            journal=journal,
            topic_id=topic_id,
            records_min=records_min,
            settings=settings,
        )

    async def _start_shards(self, context: str, handler: Callable[[int], Handler]) -> None:
        parts = self.parts
        topic = self.topics.journal(context, 0).topic
        topic_id = await parts.backend.admin.topic_id(topic)
        replica = None if context == "publishing" else self.replica

        def make(partition: int) -> Ownership:
            one, journal = handler(partition), self.topics.journal(context, partition)
            return Ownership(
                context=context,
                partition=partition,
                source=f"{context}/{partition}@{topic_id}",
                handler=one,
                replica=replica,
                wire=parts.backend.log,
                codec=parts.codec,
                schemas=self.schemas,
                clock=parts.clock,
                ids=parts.ids,
                topics=self.topics,
                bounds=parts.bounds,
                keeper=self._keeper(f"{context}-{partition}", one.form, journal, topic_id, one.folded_with),
            )

        assignment = parts.backend.assign(topic, self.topics.partitions[context])
        host = ShardHost(context, assignment, make, fit=self._clock.check, bounds=parts.bounds, chance=parts.chance)
        self.hosts.append(host)
        self._run(f"shards of {context}", host.run())

    def _publishing_options(self) -> PublishingOptions:
        return PublishingOptions(
            routing_shards=self.topics.partitions["routing"],
            projection_kinds=VIEWS_OF_PREPARATION,
            prepare_ms=self.settings.prepare_ms,
            host_policy=self.settings.slot_policy,
            providers=self.parts.providers,
            validators=self.parts.validators,
            test_reference_ms=self.settings.test_reference_s * 1000,
        )

    def _routing_handler(self, partition: int) -> Handler:
        return RoutingHandler(
            partition,
            self.replica.authority,
            skew_ms=self.settings.max_clock_skew_ms,
            horizon_ms=self.settings.dedup_horizon_s * 1000,
        )

    def _executions_handler(self, partition: int) -> Handler:
        settings = self.settings
        options = ExecutionsOptions(
            checkpoints=settings.checkpoints,
            coalesce_wait_ms=settings.coalesce_wait_ms,
            output_bytes_max=settings.output_bytes_max,
        )
        handler = ExecutionsHandler(self.replica.authority, self.parts.invoker, options)
        self._executions[partition] = handler
        return handler

    async def _start_ingress(self) -> None:
        backend, settings = self.parts.backend, self.settings
        topic = self.topics.user("stimuli").topic
        source = backend.stimuli(topic, settings.stimuli_partitions)
        self.ingress = Ingress(
            source=source,
            topic_id=await backend.admin.topic_id(topic),
            wire=backend.log,
            codec=self.parts.codec,
            topics=self.topics,
            bounds=self.parts.bounds,
            shell="default",
            stimulus_bytes_max=settings.stimulus_bytes_max,
        )
        self._closers.append(source.close)
        self._run("ingress", self.ingress.run())

    def _run(self, name: str, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._watched(name, work), name=name)
        # A task that is cancelled before its first step has not begun with it, and nobody else would end it.
        task.add_done_callback(lambda _: work.close())
        self._tasks.append(task)
        return task

    async def _watched(self, name: str, work: Coroutine[object, object, None]) -> None:
        """Every end but that by `close` is a fault: nobody else would miss what has gone."""
        try:
            await work
        except asyncio.CancelledError:
            if not self.ending:
                self._missed(name, "it was cancelled, and not by the end of this process; start the process again")
            raise
        except Unavailable as error:
            self._missed(name, str(error))
        except Exception as error:
            self._faults.append(f"{name}: {type(error).__name__}: {error}")
            log.exception("%s has ended", name)
        else:
            if not self.ending:
                self._missed(name, "it has returned, and should go on until this process ends; start the process again")

    def _missed(self, name: str, why: str) -> None:
        self._faults.append(f"{name}: {why}")
        log.error("%s has ended: %s", name, why)
