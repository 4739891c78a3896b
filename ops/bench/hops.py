"""The bare hops: the same records along the same way, with no engine around them, as a bound for what an engine can be.

    stimuli ─► ingress: re-keyed ─► routing: one append (an event and a start) ─► start message
            ─► executions: appends (a start, three activities, the end) ─► projection: rows in SQLite ─► the caller

Fair means here:

- **The same:** topics, shards, records a run and what they say (the domain's own events, in Avro, by the engine's
  codec, with headers of the engine's names and lengths), a frame an append, one append at a time for each shard with
  everything in it that has gathered meanwhile (group commit), rows in SQLite with `synchronous=NORMAL`, stimuli written
  and rows read by the same kind of caller, uvloop, one process.
- **No handicap:** batches built by hand for aiokafka, one consumer a topic; on SQLite a row a batch and a flush for all
  that has gathered, handed to readers in memory. Nothing is written a record at a time.
- **No shortcut of the engine's, and none here that loses records:** each hop decodes what it got and encodes what it
  sends. But nothing is decided, folded, deduplicated, checked or answered; no expected revision, no ownership, no
  offsets of groups, no activity is called; headers hold constants; three tables without secondary indexes stand for
  the engine's five views. So this is what moving the records costs, and no engine reaches it.
"""

import json
import time
from collections.abc import Mapping, Sequence
from itertools import count

from interlock.domain.executions.execution.events import (
    ActivityCompleted,
    CheckpointsCoalesced,
    ExecutionCompleted,
    ExecutionStarted,
    Step,
)
from interlock.domain.messages import Origin, RouteStimulus, StartExecution
from interlock.domain.progress import Progress
from interlock.domain.routing.stimulus.events import Started, StimulusRouted
from interlock.domain.sharding import digest, routing_key, stimulus_identity
from interlock.log.port import Headers, Record
from interlock.processors.ports import Topics
from interlock.runtime.topics import topics_of
from interlock.schemas.codec import AvroCodec
from ops.bench.bare import Bare, Heard, Lane
from ops.bench.bare_local import BareMemory, BareSqlite
from ops.bench.figures import used
from ops.bench.rows import Rows
from ops.bench.subject import Counts, Load
from ops.bench.work import CHUNK, Scenario, orders

ID = "0123456789abcdef0123456789abcdef"
"""Stands for every id that nothing depends on."""
NOW_MS = 1_700_000_000_000
OUTPUT = '{"by": "a", "reservation": "0123456789abcdef"}'
STEPS = ("a", "b", "c")
ORIGIN = Origin(channel="kafka", topic=f"interlock.stimuli@{ID}", partition=0, offset=1234)

_TAIL: Headers = (
    ("time", b"1700000000000"),
    ("causation", b"interlock.executions.inbox/0@1234"),
    ("correlation", ID.encode()),
)
_PLACE: Headers = (("append", b"1234"), ("size", b"123"), ("owner", ID.encode()), ("index", b"12"))
_FRAME: Headers = (
    ("kind", b"frame"),
    ("append-id", ID.encode()),
    ("append", b"1234"),
    ("follows", ID.encode()),
    ("expected-end", b"123456"),
    ("owner", ID.encode()),
    ("opened", b"0"),
    ("size", b"123"),
    ("index", b"0"),
    ("position", b"12345"),
)
_EVENT: Headers = (("kind", b"event"), *_PLACE, ("position", b"12345"))
_STIMULUS: Headers = (
    ("type", b"messages.RouteStimulus"),
    ("source", f"interlock.stimuli/0@{ID}".encode()),
    ("number", b"12345"),
    *_TAIL[1:],
)
_START_TAIL: Headers = (("type", b"messages.StartExecution"), ("number", b"1234"), ("publishing", b"8"), *_TAIL)
_INTENT: Headers = (("kind", b"intent"), *_PLACE, ("destination", b"executions/0"), *_START_TAIL)
_START: Headers = (("source", f"routing/0@{ID}".encode()), *_START_TAIL)


class HopsSubject:
    """The bare hops of a scenario; implements `Subject`."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.waits:
            raise ValueError("expected a workflow without a wait: the hops have no way back to routing")
        self._scenario = scenario
        self._topics = topics_of(scenario.settings())
        self._names = (f"order-{number}" for number in count(1))
        self._bare: Bare | None = None
        self._rows = Rows(scenario.folder / "rows.sqlite")

    # ---- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Makes the topics and starts every stage."""
        topics = self._topics
        bare = self._bare = await _open_bare(self._scenario)
        stages = _Stages(bare, topics, coalesced=self._scenario.checkpoints == "coalesced")
        journals = [topics.journal("routing", 0).topic, topics.journal("executions", 0).topic]
        await bare.listen(journals, self._rows.take)
        await bare.listen([topics.inbox("executions", 0).topic], stages.execute)
        await bare.listen([topics.inbox("routing", 0).topic], stages.route)
        await bare.listen([topics.user("stimuli").topic], stages.readdress)

    async def close(self) -> None:
        """Ends every stage."""
        await self._open.close()
        self._rows.close()

    # ---- what is measured -------------------------------------------------------------------------------------

    async def load(self, runs: int) -> Load:
        """So many runs as fast as they go."""
        names = [next(self._names) for _ in range(runs)]
        batches = [orders(names[start : start + CHUNK]) for start in range(0, runs, CHUNK)]
        goal = self._rows.completed + runs
        began, cpu_s = time.perf_counter(), used().cpu_s
        for batch in batches:
            await self._open.send(self._topics.user("stimuli"), batch)
        await self._rows.reached(goal)
        return Load(runs, time.perf_counter() - began, used().cpu_s - cpu_s)

    async def single(self) -> float:
        """One run from its stimulus to its row, which is read by another connection."""
        name, goal = next(self._names), self._rows.completed + 1
        began = time.perf_counter()
        await self._open.send(self._topics.user("stimuli"), orders([name]))
        await self._rows.reached(goal)
        status = self._rows.status(run_id(name))
        seconds = time.perf_counter() - began
        if status != "completed":
            raise AssertionError(f"expected the run of {name} to be completed, found {status}")
        return seconds

    async def mark(self) -> None:
        """Begins to count anew."""
        self._open.tally.begin()

    async def counts(self) -> Counts:
        """What was written to the log since `mark`."""
        return self._open.tally.end()

    async def memory_mb(self) -> float:
        """The most that the process held."""
        return used().memory_mb

    @property
    def _open(self) -> Bare:
        assert self._bare is not None, "expected start first"
        return self._bare


def run_id(name: str) -> str:
    """The run that the order of a name starts."""
    return digest("execution", ID, digest("stimulus", name))


# ---- stages -------------------------------------------------------------------------------------------------------


class _Run:
    """A run that goes through executions."""

    __slots__ = ("id", "start", "step")

    def __init__(self, start: StartExecution) -> None:
        self.id = start.execution_id
        self.start = start
        self.step = 0
        """How many of its appends have landed."""


class _Stages:
    """The hops. Each takes what has come, and puts what follows from it on the lane to where it goes."""

    def __init__(self, bare: Bare, topics: Topics, *, coalesced: bool) -> None:
        self._codec = AvroCodec()
        self._topics = topics
        self._coalesced = coalesced
        self._note = self._codec.encode(
            Progress(
                inbox=1234,
                received=((f"interlock.stimuli/0@{ID}", 1234),),
                delivered=(("executions/0", 1234),),
                answered=(),
                publishing=8,
            )
        )
        routing, executions = range(topics.partitions["routing"]), range(topics.partitions["executions"])
        self._to_routing = [Lane(bare, topics.inbox("routing", n), _as_they_are, _nothing) for n in routing]
        self._to_executions = [Lane(bare, topics.inbox("executions", n), _as_they_are, _nothing) for n in executions]
        self._routed = [Lane(bare, topics.journal("routing", n), self._routing_append, self._start) for n in routing]
        self._runs = [
            Lane(bare, topics.journal("executions", n), self._executions_append, self._go_on) for n in executions
        ]

    def readdress(self, heard: Heard) -> None:
        """Ingress: reads JSON, and sends the stimulus to the shard where it belongs."""
        for _, records in heard:
            for record in records:
                found = json.loads(record.value)
                name = found["correlation"]
                identity = stimulus_identity(found["type"], found["name"])
                key = routing_key("default", identity, name)
                message = RouteStimulus(
                    stimulus_id=digest("stimulus", name),
                    shell="default",
                    type=found["type"],
                    name=found["name"],
                    identity=identity,
                    correlation=name,
                    idempotency_key=found["idempotencyKey"],
                    data=json.dumps(found["data"]),
                    ttl_ms=None,
                    deliver="all",
                    arrived_at_ms=NOW_MS,
                    origin=ORIGIN,
                )
                readdressed = Record(key.encode(), self._codec.encode(message), _STIMULUS)
                self._to_routing[self._topics.partition("routing", key)].put([readdressed])

    def route(self, heard: Heard) -> None:
        """Routing: each stimulus starts one run."""
        for shard, records in heard:
            self._routed[shard.partition].put([self._codec.decode(record.value) for record in records])

    def _routing_append(self, stimuli: Sequence[object]) -> list[Record]:
        events: list[Record] = []
        intents: list[Record] = []
        for stimulus in stimuli:
            assert isinstance(stimulus, RouteStimulus), "expected nothing else in the inbox of routing"
            run = digest("execution", ID, stimulus.stimulus_id)
            event, start = _routed(stimulus, run)
            events.append(Record(b"stimulus:" + stimulus.stimulus_id.encode(), self._codec.encode(event), _ROUTED))
            intents.append(Record(run.encode(), self._codec.encode(start), _INTENT))
        return [Record(ID.encode(), self._note, _FRAME), *events, *intents]

    def _start(self, stimuli: Sequence[object], batch: Sequence[Record]) -> None:
        for intent in batch[1 + len(stimuli) :]:
            partition = self._topics.partition("executions", intent.key.decode())
            self._to_executions[partition].put([Record(intent.key, intent.value, _START)])

    def execute(self, heard: Heard) -> None:
        """Executions: a start and three activities, each in an append of its own, or all of it in one."""
        for shard, records in heard:
            starts = [self._codec.decode(record.value) for record in records]
            self._runs[shard.partition].put([_Run(one) for one in starts if isinstance(one, StartExecution)])

    def _executions_append(self, runs: Sequence[_Run]) -> list[Record]:
        batch = [Record(ID.encode(), self._note, _FRAME)]
        for run in runs:
            key = b"execution:" + run.id.encode()
            batch += [Record(key, self._codec.encode(event), _HEADERS[type(event)]) for event in self._events(run)]
        return batch

    def _events(self, run: _Run) -> Sequence[Step | CheckpointsCoalesced]:
        if self._coalesced:
            return (CheckpointsCoalesced(steps=(_started(run.start), *map(_done, STEPS), _END)),)
        if run.step == 0:
            return (_started(run.start),)
        done = _done(STEPS[run.step - 1])
        return (done, _END) if run.step == len(STEPS) else (done,)

    def _go_on(self, runs: Sequence[_Run], _: Sequence[Record]) -> None:
        if self._coalesced:
            return
        for run in runs:
            run.step += 1
            if run.step <= len(STEPS):
                self._runs[self._topics.partition("executions", run.id)].put([run])


def _as_they_are(records: Sequence[Record]) -> list[Record]:
    return list(records)


def _nothing(_: Sequence[Record], __: Sequence[Record]) -> None:
    return


def _routed(stimulus: RouteStimulus, run: str) -> tuple[StimulusRouted, StartExecution]:
    event = StimulusRouted(
        stimulus_id=stimulus.stimulus_id,
        shell=stimulus.shell,
        type=stimulus.type,
        name=stimulus.name,
        identity=stimulus.identity,
        correlation=stimulus.correlation,
        idempotency_key=stimulus.idempotency_key,
        data=stimulus.data,
        arrived_at_ms=stimulus.arrived_at_ms,
        kept_until_ms=None,
        deliver="all",
        past_horizon=False,
        origin=stimulus.origin,
        starts=(Started(execution_id=run, publication_id=ID, binding_id=ID),),
        resumes=(),
    )
    start = StartExecution(
        execution_id=run,
        shell=stimulus.shell,
        definition_id=ID,
        slot_id=ID,
        publication_id=ID,
        artifact_id=ID,
        trigger_node="trigger-1",
        stimulus_id=stimulus.stimulus_id,
        stimulus_name=stimulus.name,
        data=stimulus.data,
    )
    return event, start


def _started(start: StartExecution) -> ExecutionStarted:
    return ExecutionStarted(
        execution_id=start.execution_id,
        shell=start.shell,
        definition_id=start.definition_id,
        slot_id=start.slot_id,
        publication_id=start.publication_id,
        artifact_id=start.artifact_id,
        trigger_node=start.trigger_node,
        stimulus_id=start.stimulus_id,
        stimulus_name=start.stimulus_name,
        data=start.data,
        at_ms=NOW_MS,
    )


async def _open_bare(scenario: Scenario) -> Bare:
    """The bare log of a scenario's kind."""
    if scenario.log == "kafka":
        from ops.bench.bare_kafka import BareKafka

        return await BareKafka.open(scenario)
    if scenario.log == "sqlite":
        return BareSqlite(scenario.folder / "bare.sqlite")
    return BareMemory()


def _done(node: str) -> ActivityCompleted:
    return ActivityCompleted(node_id=node, attempt=1, output=OUTPUT, at_ms=NOW_MS)


def _event_headers(type_: type) -> Headers:
    context = "routing" if type_ is StimulusRouted else "executions"
    return (*_EVENT, ("type", f"{context}.{type_.__name__}".encode()), ("revision", b"1"), *_TAIL)


_HEADERS: Mapping[type, Headers] = {
    type_: _event_headers(type_)
    for type_ in (ExecutionStarted, ActivityCompleted, ExecutionCompleted, CheckpointsCoalesced)
}
_ROUTED = _event_headers(StimulusRouted)
_END = ExecutionCompleted(output=OUTPUT, at_ms=NOW_MS)
