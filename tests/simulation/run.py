"""Carries out a plan: the world, its clients and its troubles, with the judge looking all the time.

    start ─► items at their times, the judge after every few landings ─► faults off ─► all converges ─► last words

The result is what happened and, where a rule was broken, which. Nothing here depends on anything but the plan, so the
same plan gives the same trace.
"""

import asyncio
import logging
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from interlock.log.frame import Frame, read_frame
from interlock.log.port import Shard
from interlock.testing.virtual_time import SeededLoop, run_virtual
from tests.simulation.checks import Seen, Violation
from tests.simulation.checks.judge import Judge
from tests.simulation.clients import Clients
from tests.simulation.disks import views_on_disks_of
from tests.simulation.items import Item
from tests.simulation.plan import Plan
from tests.simulation.spinning import Spinning, watching
from tests.simulation.trace import Trace, TraceHandler
from tests.simulation.troubles import Troubles
from tests.simulation.world import ALL_VERSIONS, REFERENCE_S, World

LOOK_EACH: Final = 8
"""The judge looks after so many appends have landed."""
COMPARE_EACH: Final = 100
"""And compares states and views after so many."""
CONVERGED_S: Final = 900.0
"""With faults off, everything that is owed has come within so much virtual time: the longest wait for a stimulus is two
minutes, the longest activity half a minute, and what follows each other in one run is at most a handful."""
STEPS_MAX: Final = 500_000
"""Of the loop; a run of the usual length takes some 30,000. One that takes so many turns in a circle."""
STEP_CPU_S_MAX: Final = 30.0
"""How long one step may take; a whole run takes some 3 s. One that takes so long goes round without waiting."""
TROUBLES_END_S: Final = 120.0
"""How long the last trouble may take to be over."""
FAILED: Final = "the run itself fails"
"""How the rule begins that a run breaks which raises anything but a violation; the exception's type is part of it, so
that no shorter run is taken for the same that fails otherwise."""
SILENT: Final = logging.NullHandler()
FRAMES_TOLD_MAX: Final = 6
"""Of an exception, the innermost ones."""
SCRATCH: Final = Path("/dev/shm")
"""Where views are kept, if it is there: their files are no part of what is simulated, and a disk would be slower."""


@dataclass(slots=True, kw_only=True)
class Result:
    """What a run was."""

    plan: Plan
    trace: Trace
    violation: Violation | None = None
    commits: int = 0
    """Appends that counted and were checked."""
    publishes: int = 0
    """Publications that were asked for."""
    stimuli: int = 0
    """Stimuli and other records that were written, repetitions included."""
    faults: Counter[str] = field(default_factory=Counter[str])
    steps: int = 0
    """Of the loop."""
    virtual_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def again(self) -> str:
        """The command that reruns exactly this."""
        kept = "" if self.plan.kept is None else f" ONLY={spans(self.plan.kept)}"
        return f"make simulate SEED={self.plan.seed} STEPS={self.plan.steps}{kept}"

    def report(self, lines: int | None = 60) -> str:
        """What a person needs who looks into a failed run."""
        return "\n".join(
            [
                self.trace.text(lines),
                "",
                f"seed {self.plan.seed}, steps {self.plan.steps}, commit {commit_of_code()}",
                f"trace {self.trace.digest[:16]}",
                f"found: {self.violation}",
                f"again: {self.again}",
            ]
        )


def run(plan: Plan, *, whole: bool = False, at_end: Callable[[World], None] = lambda _: None) -> Result:
    """Carries out a plan; with `whole` its trace ends with what all records come to. `at_end` is given the world of a
    run that has broken no rule.

    What breaks a rule is in the result, and what is raised otherwise as well: then a part failed that nobody looks at,
    in the engine or in the simulation.
    """
    began = time.process_time()
    with tempfile.TemporaryDirectory(dir=SCRATCH if SCRATCH.is_dir() else None, prefix="simulation-") as folder:
        one = _Run(plan, whole=whole, at_end=at_end)
        try:
            result = run_virtual(one.whole(Path(folder)), seed=plan.seed)
        except Spinning as spinning:
            result = one.result
            result.violation = spinning.violation
        except Exception as error:  # noqa: BLE001 - whoever runs, shrinks and hunts treats it as any other breach
            result = one.result
            result.violation = _failure(error)
    result.cpu_s = time.process_time() - began
    return result


def spans(numbers: Sequence[int]) -> str:
    """Numbers as `3,7-9`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def commit_of_code() -> str:
    """The commit that runs, with a mark where the tree differs from it; "unknown" outside a clone."""
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _failure(error: Exception) -> Violation:
    frames = "".join(traceback.format_tb(error.__traceback__)[-FRAMES_TOLD_MAX:])
    said = "".join(traceback.format_exception_only(error)).strip()
    # Without the exception itself, which would keep the whole world by its frames.
    return Violation(f"{FAILED} by {type(error).__name__}", f"expected it to end, found {said}, from\n{frames}")


class _Run:
    def __init__(self, plan: Plan, *, whole: bool, at_end: Callable[[World], None]) -> None:
        self.result = Result(plan=plan, trace=Trace())
        self._plan = plan
        self._digests = whole
        self._at_end = at_end
        self._landed = 0
        self._look = asyncio.Event()
        self._compare = False
        self._crashes = 0

    async def whole(self, data: Path) -> Result:
        """The run from its start to its last word."""
        self._world = world = World(self._plan, data)
        self._clients = Clients(world)
        self._troubles = Troubles(world)
        self._judge = Judge(
            Seen(
                log=world.quiet,
                topics=world.topics,
                codec=world.codec,
                ledger=self._clients.ledger,
                now_ms=world.clock.now_ms,
                engines=world.engines,
                views=world.views,
                shifts=world.shifts,
                references_ms=REFERENCE_S * 1000,
                tampered=world.tampered,
            ),
            seed=self._plan.seed,
        )
        result = self.result
        result.trace = world.trace
        loop = cast("SeededLoop", asyncio.get_running_loop())
        self._circling = loop.create_future()
        loop.after_each(self._count_steps, every=1_000)
        async with self._logging():
            try:
                with (
                    self._judge.watching(),
                    views_on_disks_of(world.sky, lambda process, seconds: world.processes[process].stall(seconds)),
                    watching(lambda: loop.steps, STEP_CPU_S_MAX),
                ):
                    await self._guarded()
            except Violation as violation:
                result.violation = violation
                world.trace.add("judge", f"VIOLATION {violation}")
            finally:
                result.steps, result.virtual_s = loop.steps, loop.time()
                self._count()
            if result.violation is None:
                await world.close()
                self._at_end(world)
            if self._digests:
                world.trace.add("log", f"holds {world.digest()}")
        return result

    def _count(self) -> None:
        result, sent = self.result, self._clients.ledger.sent
        result.commits = self._judge.commits()
        result.publishes = sum(entry.command_id.startswith("publish") for entry in sent)
        result.stimuli = sum(not entry.command_id for entry in sent)
        result.faults = self._world.faults

    def _count_steps(self, steps: int, task: "asyncio.Task[object] | None") -> None:
        if steps > STEPS_MAX and not self._circling.done():
            sentence = f"expected at most {STEPS_MAX} steps, found more; now: {task}"
            self._circling.set_exception(Violation("no part turns in circles", sentence))

    # ---- the phases -----------------------------------------------------------------------------------------------

    async def _guarded(self) -> None:
        """Everything at once; the first thing that fails ends the run."""
        world = self._world
        watching = [
            asyncio.create_task(self._watch(context, world.topics.journal(context, partition)))
            for context, partitions in world.topics.partitions.items()
            for partition in range(partitions)
        ]
        tasks: list[asyncio.Future[None]] = [
            self._circling,
            asyncio.create_task(self._play(), name="play"),
            asyncio.create_task(self._judging(), name="judging"),
            asyncio.create_task(self._clients.listen(), name="answers"),
            *watching,
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task in done:
                    task.result()
        finally:
            for task in (*tasks, *self._items):
                task.cancel()
            await asyncio.gather(*tasks, *self._items, return_exceptions=True)

    _items: Sequence["asyncio.Task[None]"] = ()

    async def _play(self) -> None:
        """The items, then calm, then what has to hold in the end."""
        world = self._world
        world.trace.add("plan", f"seed {self._plan.seed}, steps {self._plan.steps}, {self._plan.cadence} checkpoints")
        await world.start()
        self._items = items = [asyncio.create_task(self._at(item), name=str(item)) for item in self._plan.items]
        troubles = [task for task, item in zip(items, self._plan.items, strict=True) if item.fault]
        await self._ended(troubles, self._plan.ends_s + TROUBLES_END_S, "troubles end")
        await self._calm()
        await self._ended(items, CONVERGED_S, "every patient client is answered")
        world.pass_by()
        await self._converge()
        for follower in self._clients.followers:
            await follower.check()
        await self._judge.look()
        await self._judge.compare()
        await self._judge.ended()

    async def _at(self, item: Item) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, item.at_s - loop.time()))
        if not await self._clients.do(item):
            await self._troubles.do(item)

    async def _ended(self, tasks: Sequence["asyncio.Task[None]"], within_s: float, rule: str) -> None:
        """Waits until these have ended. Raises what one of them raises."""
        if not tasks:
            return
        done, late = await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in done:
                task.result()
        if late:
            items = "; ".join(sorted(task.get_name() for task in late)[:2])
            raise Violation(rule, f"expected it within {within_s:g} s, found {len(late)} not ended: {items}")

    async def _calm(self) -> None:
        """Faults off: everything that was lent or broken is as it should be."""
        world = self._world
        world.trace.add("plan", "CALM: no faults from here")
        world.sky.clear()
        for process in world.processes.values():
            world.shift(process, 0)
            if process.versions != ALL_VERSIONS:
                await process.stop()
                process.versions = ALL_VERSIONS
                await process.start()
        world.settle()

    async def _converge(self) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + CONVERGED_S
        owing: Sequence[str] = ()
        while loop.time() < deadline_s:
            await self._judge.look()
            owing = [*self._judge.owing(), *(problem for one in self._world.engines() for problem in one.waiting())]
            if not owing:
                self._world.trace.add("plan", "everything has converged")
                return
            await asyncio.sleep(5.0)
        raise Violation(
            "everything converges",
            f"expected nothing to be owed {CONVERGED_S:g} s after the last fault, found {len(owing)}: {owing[:30]}",
        )

    # ---- looking --------------------------------------------------------------------------------------------------

    async def _watch(self, context: str, shard: Shard) -> None:
        """Sees what lands in a journal, whether it counts or not."""
        reader = self._world.quiet.reader(shard, 0)
        while True:
            for stored in await reader.read(600.0):
                frame = read_frame(stored)
                if frame is not None:
                    self._saw(shard, stored.offset, frame)
                elif context == "executions" and stored.key.startswith(b"execution:"):
                    self._clients.runs[stored.key.decode().removeprefix("execution:")] = None

    def _saw(self, shard: Shard, offset: int, frame: Frame) -> None:
        void = "" if frame.end == offset else f", expected at {frame.end}"
        kind = "opened by" if frame.opened else "by"
        self._world.trace.add(
            "log", f"{shard} {frame.number} at {offset}{void}, {frame.size} records {kind} {frame.owner[:6]}"
        )
        self._landed += 1
        if frame.opened or self._landed % COMPARE_EACH == 0:
            self._compare = True
        if self._compare or self._landed % LOOK_EACH == 0:
            self._look.set()

    async def _judging(self) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            await self._judge.look()
            self._check_engines()
            if self._compare or self._troubles.crashes > self._crashes:
                self._crashes, self._compare = self._troubles.crashes, False
                await self._judge.compare()

    def _check_engines(self) -> None:
        for engine in self._world.engines():
            if faults := engine.faults():
                raise Violation(
                    "no part stands still", f"expected every part of every process to go on, found {faults}"
                )

    # ---- around ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _logging(self) -> AsyncGenerator[None, None]:
        """What the engine logs goes into the trace, and what nobody caught as well."""
        logger = logging.getLogger("interlock")
        handler = TraceHandler(self._world.trace)
        before = logger.propagate, logger.level
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(handler)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._uncaught)
        try:
            yield
        finally:
            # What is torn down behind a broken rule says so too, and nobody wants to read that.
            logger.addHandler(SILENT)
            logger.removeHandler(handler)
            logger.propagate = before[0]
            logger.setLevel(before[1])

    def _uncaught(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        self._world.trace.add("", f"uncaught: {context.get('message')}: {context.get('exception')!r}")
