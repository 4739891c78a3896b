"""Writers that contend for a journal: one ownership after another, each command told as acknowledged or denied.

Used as tasks of one process, and as a process of its own:

    python -m tests.contract.contender contend ADDRESS TOPIC NAME

which prints `own TOKEN`, `ack COMMAND`, `deny COMMAND` and `lost`, until its input ends; then it settles what is in
doubt, and ends. `Fates` judges what was told by what the log holds in the end.
"""

import asyncio
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from interlock.log.frame import Append, Entry
from interlock.log.journal import Journal, Lost
from interlock.log.port import Log, LogError, Refused, Shard
from tests.contract.child import open_address

Tell = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a contender rests; every rest is drawn."""

    failed_s: float
    """At most so long after the journal was lost or the log failed."""
    rests: float
    """How many of the appends have a rest before them, of 1."""
    rest_s: float
    """How long it is at most."""


QUICK = Pace(failed_s=0.05, rests=1.0, rest_s=0.01)
"""So that the others get their turn: a file has one lock, and a log in memory never waits."""
SLEEPY = Pace(failed_s=0.5, rests=0.1, rest_s=3.0)
"""Now and then so long that others have taken the journal meanwhile."""


async def yes() -> bool:
    """Always assigned: safety must not depend on it."""
    return True


class Contender:
    """Appends commands for as long as `going` is set, and tells the fate of each."""

    def __init__(
        self, name: str, log: Log, shard: Shard, tell: Tell, chance: random.Random, *, pace: Pace = QUICK
    ) -> None:
        self.going = True
        self._name = name
        self._log = log
        self._shard = shard
        self._tell = tell
        self._chance = chance
        self._pace = pace
        self._commands_max = math.inf
        self._seen: set[str] = set()
        self._doubtful: list[str] = []
        self._made = 0

    async def run(self, commands_max: float = math.inf) -> None:
        """Until `going` is False or so many commands were tried in all, and none is in doubt."""
        self._commands_max = commands_max
        while self._goes_on() or self._doubtful:
            try:
                await self._own()
            except LogError as error:
                if isinstance(error, Lost):
                    self._tell("lost", self._name)
                await asyncio.sleep(self._chance.uniform(0.0, self._pace.failed_s))

    def _goes_on(self) -> bool:
        return self.going and self._made < self._commands_max

    async def _own(self) -> None:
        self._seen = set()
        journal = await Journal.open(
            self._log,
            self._shard,
            ids=lambda: f"{self._chance.getrandbits(128):032x}",
            fold=self._fold,
            note=lambda: b"",
            still_assigned=yes,
            wait_s=0.2,
        )
        self._tell("own", str(journal.token))
        self._settle()
        while self._goes_on():
            batch = [f"{self._name}-{self._made + i}" for i in range(self._chance.randint(1, 4))]
            self._made += len(batch)
            if self._chance.random() < self._pace.rests:
                await asyncio.sleep(self._chance.uniform(0.0, self._pace.rest_s))
            self._doubtful += batch
            try:
                await journal.append(b"note", [Entry("event", b"a:1", one.encode(), ()) for one in batch])
            except Refused:
                self._settle()
                continue
            self._seen.update(batch)
            self._settle()

    def _settle(self) -> None:
        for command in self._doubtful:
            self._tell("ack" if command in self._seen else "deny", command)
        self._doubtful.clear()

    def _fold(self, append: Append) -> None:
        self._seen.update(entry.value.decode() for entry in append.entries)


def commands_of(appends: Sequence[Append]) -> Counter[str]:
    """How often each command counts."""
    return Counter(entry.value.decode() for append in appends for entry in append.entries)


@dataclass
class Fates:
    """What contenders were told of their commands."""

    acknowledged: set[str] = field(default_factory=set[str])
    denied: set[str] = field(default_factory=set[str])

    def tell(self, what: str, name: str) -> None:
        """As a contender tells it; what is no fate of a command is passed over."""
        if what == "ack":
            self.acknowledged.add(name)
        elif what == "deny":
            self.denied.add(name)

    def check(self, appends: Sequence[Append]) -> None:
        """What was acknowledged counts once, what was denied never, nothing else is there, and no number is missing."""
        found = commands_of(appends)
        amiss = {one: found[one] for one in self.acknowledged if found[one] != 1}
        assert amiss == {}, f"expected each that was acknowledged once, found {amiss}"
        assert self.denied & set(found) == set(), f"denied, and there: {self.denied & set(found)}"
        unknown = set(found) - self.acknowledged - self.denied
        assert unknown == set(), f"there, and told to nobody: {unknown}"
        assert [append.frame.number for append in appends] == list(range(1, len(appends) + 1))


async def main(address: str, topic: str, name: str) -> None:
    """Contends until the input ends."""
    log = open_address(address)
    contender = Contender(name, log, Shard(topic, 0), _print, random.Random(name))
    running = asyncio.create_task(contender.run())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    contender.going = False
    await running
    await log.close()


def _print(what: str, name: str) -> None:
    print(what, name, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[2:]))
