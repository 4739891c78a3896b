"""Writers that take one journal from each other, so that it holds void appends; on any log."""

import random

from interlock.log.frame import Entry
from interlock.log.journal import Journal, Lost
from interlock.log.port import Log, Shard


async def take_turns(log: Log, shard: Shard, chance: random.Random, *, appends: int) -> int:
    """Two ownerships that don't know of each other append in turn; gives how many were told that they lost it."""
    owners = [await _open(log, shard, chance), await _open(log, shard, chance)]
    lost = 0
    for made in range(appends):
        owner = chance.choice(owners)
        try:
            await owner.append(b"note", [_event(made, i) for i in range(chance.randint(0, 3))])
        except Lost:
            lost += 1
            owners = [*owners[-1:], await _open(log, shard, chance)]
    return lost


def _event(made: int, index: int) -> Entry:
    return Entry("event", b"count:1", b"%d.%d" % (made, index), (("type", b"count.Counted"), ("revision", b"1")))


async def _open(log: Log, shard: Shard, chance: random.Random) -> Journal:
    return await Journal.open(
        log,
        shard,
        ids=lambda: f"{chance.getrandbits(128):032x}",
        fold=lambda _: None,
        note=lambda: b"",
        still_assigned=_yes,
    )


async def _yes() -> bool:
    return True
