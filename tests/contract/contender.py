"""A writer that contends for a journal: one ownership after another, each command told as acknowledged or denied.

Used as tasks of one process, and as a process of its own:

    python -m tests.contract.contender contend ADDRESS TOPIC NAME

which prints `own TOKEN`, `ack COMMAND`, `deny COMMAND` and `lost`, until its input ends; then it settles what is in
doubt, and ends.
"""

import asyncio
import random
import secrets
import sys
from collections.abc import Callable

from interlock.log.frame import Append, Entry
from interlock.log.journal import Journal, Lost
from interlock.log.port import Log, LogError, Refused, Shard
from tests.contract.child import open_address

Tell = Callable[[str, str], None]


async def yes() -> bool:
    """Always assigned: safety must not depend on it."""
    return True


class Contender:
    """Appends commands for as long as `going` is set, and tells the fate of each."""

    def __init__(self, name: str, log: Log, shard: Shard, tell: Tell, chance: random.Random) -> None:
        self.going = True
        self._name = name
        self._log = log
        self._shard = shard
        self._tell = tell
        self._chance = chance
        self._seen: set[str] = set()
        self._doubtful: list[str] = []
        self._made = 0

    async def run(self) -> None:
        """Until `going` is False and nothing is in doubt."""
        while self.going or self._doubtful:
            try:
                await self._own()
            except Lost:
                self._tell("lost", self._name)
            except LogError:
                await asyncio.sleep(self._chance.uniform(0.0, 0.05))

    async def _own(self) -> None:
        self._seen = set()
        journal = await Journal.open(
            self._log,
            self._shard,
            ids=lambda: secrets.token_hex(16),
            fold=self._fold,
            note=lambda: b"",
            still_assigned=yes,
            wait_s=0.2,
        )
        self._tell("own", str(journal.token))
        self._settle()
        while self.going:
            batch = [f"{self._name}-{self._made + i}" for i in range(self._chance.randint(1, 4))]
            self._made += len(batch)
            self._doubtful += batch
            try:
                await journal.append(b"note", [Entry("event", b"a:1", one.encode(), ()) for one in batch])
            except Refused:
                self._settle()
                continue
            self._seen.update(batch)
            self._settle()
            # A pace, so that the others get their turn: a file has one lock, and a log in memory never waits.
            await asyncio.sleep(self._chance.uniform(0.0, 0.01))

    def _settle(self) -> None:
        for command in self._doubtful:
            self._tell("ack" if command in self._seen else "deny", command)
        self._doubtful.clear()

    def _fold(self, append: Append) -> None:
        self._seen.update(entry.value.decode() for entry in append.entries)


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
