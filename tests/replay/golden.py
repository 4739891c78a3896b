"""The journals of a whole installation as releases have left them: `golden/<release>-<n>.log`, and what they come to.

A log is what a simulated run has written, with all that went wrong in it: appends that don't count, shards that changed
hands. Those of a release have together every type of event that it writes. `<release>-<n>.told` has a line for each
table of each view and each kind of aggregate: how many there are, and the digest of them all.

    python -m tests.replay.golden write 62 77  # logs of what isn't released yet, by these seeds, and what they come to
    python -m tests.replay.golden tell         # what every log comes to with this code, after a change that is meant
    python -m tests.replay.golden show LOG     # all of it as text, to be compared with that of another commit

A log never changes once its release is out. What it comes to changes only where a view has another column, say, or a
state another field: never because a rule decides otherwise now, since replay decides nothing.
"""

import asyncio
import gzip
import hashlib
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Record, Shard, Stored, TopicSpec
from interlock.projections.history.states import state_of
from interlock.projections.host import ViewHost
from interlock.projections.recorded import decode_append
from interlock.projections.views import VIEWS
from interlock.schemas.catalog import catalog
from interlock.schemas.codec import AvroCodec
from tests.simulation.plan import draw
from tests.simulation.run import run
from tests.simulation.world import World
from tests.support.appends import read_appends

FOLDER = Path(__file__).with_name("golden")
UNRELEASED = "unreleased"
STEPS = 40
"""Of each run; few, since a log stays for ever."""
WAIT_S = 60.0


class Kept(NamedTuple):
    """The journals of a log, each a topic with one partition or more."""

    partitions: dict[str, int]
    records: list[tuple[Shard, Stored]]

    @property
    def shards(self) -> list[Shard]:
        """All of them."""
        return [Shard(topic, each) for topic, partitions in self.partitions.items() for each in range(partitions)]


def logs() -> list[Path]:
    """Every golden log."""
    return sorted(FOLDER.glob("*.log"))


def read(path: Path) -> Kept:
    """What a golden log holds."""
    lines = iter(gzip.decompress(path.read_bytes()).splitlines())
    partitions: dict[str, int] = json.loads(next(lines))
    return Kept(partitions, [_record(json.loads(line)) for line in lines])


def _record(line: Any) -> tuple[Shard, Stored]:
    topic, partition, offset, time_ms, key, value, headers = line
    named = tuple((name, value.encode("latin-1")) for name, value in headers)
    return Shard(topic, partition), Stored(offset, time_ms, key.encode("latin-1"), value.encode("latin-1"), named)


def write(path: Path, kept: Kept) -> None:
    """Keeps a log; the same one gives the same bytes."""
    lines: list[object] = [kept.partitions]
    for shard, stored in kept.records:
        headers = [[name, value.decode("latin-1")] for name, value in stored.headers]
        key, value = stored.key.decode("latin-1"), stored.value.decode("latin-1")
        lines.append([shard.topic, shard.partition, stored.offset, stored.time_ms, key, value, headers])
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


async def told(kept: Kept, directory: Path) -> dict[str, list[str]]:
    """Each table of each view, and each kind of aggregate → all that is in it, in order, as text."""
    now_ms = 0
    broker = MemoryBroker(lambda: now_ms)
    log, codec = MemoryLog(broker), AvroCodec()
    await log.create([TopicSpec(name=topic, partitions=each) for topic, each in kept.partitions.items()])
    for shard, stored in kept.records:
        now_ms = stored.time_ms
        assert await log.send(shard, [Record(stored.key, stored.value, stored.headers)]) == stored.offset
    found: dict[str, list[str]] = {}
    for view in VIEWS:
        shards = [shard for shard in kept.shards if _context(shard) in view.contexts]
        host = ViewHost(view, directory, log=log, topic_ids=log, codec=codec, shards=shards)
        await host.start()
        async with asyncio.timeout(WAIT_S):
            while not host.caught_up and not host.error:
                await host.changed(1.0)
        assert not host.error, host.error
        for table in view.tables:
            found[f"view {view.name} {table.name}"] = sorted(map(repr, host.rows(table)))
        await host.close()
    streams: defaultdict[str, list[object]] = defaultdict(list)
    for shard in kept.shards:
        for append in await read_appends(log, shard):
            for event in decode_append(append, codec):
                streams[event.stream].append(event.event)
    for stream, events in sorted(streams.items()):
        state = json.dumps(state_of(stream, events), sort_keys=True)
        found.setdefault(f"state {stream.partition(':')[0]}", []).append(f"{stream} {state}")
    return found


def summary(found: dict[str, list[str]]) -> str:
    """How many there are of each, and their digest."""
    digests = {name: hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32] for name, lines in found.items()}
    return "".join(f"{name}: {len(lines)} {digests[name]}\n" for name, lines in found.items())


def fold(path: Path) -> dict[str, list[str]]:
    """What a golden log comes to with this code."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(told(read(path), Path(folder)))


def tell(paths: Iterable[Path]) -> None:
    """Writes what logs come to."""
    for path in paths:
        path.with_suffix(".told").write_text(summary(fold(path)), "utf-8")


def types_in(kept: Kept) -> set[str]:
    """The types of the events in a log."""
    headers = (dict(stored.headers) for _, stored in kept.records)
    return {each["type"].decode() for each in headers if "revision" in each}


def lacking(kept: Iterable[Kept]) -> set[str]:
    """The types of events that this release writes and none of these logs has."""
    return {name for name in catalog().rows if not name.startswith("messages.")}.difference(*map(types_in, kept))


def simulated(seed: int) -> Kept:
    """The journals that a simulated run has left."""
    found: list[Kept] = []
    result = run(draw(seed, STEPS), at_end=lambda world: found.append(_journals(world)))
    assert result.violation is None, result.report()
    return found[0]


def _journals(world: World) -> Kept:
    partitions = {world.topics.journal(context, 0).topic: each for context, each in world.topics.partitions.items()}
    kept = Kept(partitions, [])
    for shard in kept.shards:
        kept.records.extend((shard, stored) for stored in world.broker.partition(shard).records)
    return kept


def _context(shard: Shard) -> str:
    return shard.topic.split(".")[-2]


def _texts(found: dict[str, list[str]]) -> Iterator[str]:
    for name, lines in found.items():
        yield f"== {name}"
        yield from lines


def main(arguments: Sequence[str]) -> None:
    """Does as the module says."""
    match arguments:
        case ["write", *seeds] if seeds:
            made = [simulated(int(seed)) for seed in seeds]
            if missed := lacking(made):
                sys.exit(f"expected every type of event in these runs, found no {', '.join(sorted(missed))}")
            for path in FOLDER.glob(f"{UNRELEASED}-*"):
                path.unlink()
            for number, kept in enumerate(made, 1):
                write(FOLDER / f"{UNRELEASED}-{number}.log", kept)
            tell(FOLDER.glob(f"{UNRELEASED}-*.log"))
        case ["tell"]:
            tell(logs())
        case ["show", name]:
            print("\n".join(_texts(fold(Path(name)))))
        case _:
            sys.exit(f"expected write SEED…, tell or show LOG, found {' '.join(arguments) or 'nothing'}")


if __name__ == "__main__":
    main(sys.argv[1:])
