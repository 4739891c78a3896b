"""The topic that holds every Avro schema that anything was ever written with, so that any client can read any record.

Key: the schema's fingerprint as records begin with it (their bytes 2 to 9), in hexadecimal digits. Value: the schema as
JSON. Headers: `name` (the stored name, such as "executions.ActivityCompleted") and `version`.

Always true: a schema is here before a record that needs it is anywhere, because every process registers those of its
release before it does anything else; and none is ever taken back. So a record whose schema isn't here was written by
none of this installation's releases.

What would surprise: several processes may register at once, and a write that is in doubt is repeated. A schema that is
here twice says the same twice; on Kafka compaction drops one. Documentation may differ between releases: whichever was
written last stands, and nobody writes a schema again for its documentation alone.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, TypeVar, cast

from interlock.log.port import (
    Doubt,
    Log,
    NotNow,
    Record,
    Shard,
    Stored,
    TopicFault,
    TopicSpec,
    Unavailable,
    batch_bytes,
)
from interlock.schemas.written import WrittenSchema

T = TypeVar("T")

TOPIC: Final = "schemas"
"""The topic's name behind the installation's prefix; it has one partition."""
H_NAME: Final = "name"
H_VERSION: Final = "version"

REGISTER_S: Final = 10.0
"""For how long a log that is away, or a write in doubt, is tried again; a new topic has a leader within seconds."""
RETRY_S: Final = 0.2
READ_WAIT_S: Final = 1.0
NAMED_MAX: Final = 3
"""How many missing schemas a message names; the others are counted."""


def spec(prefix: str) -> TopicSpec:
    """How the topic of an installation has to be."""
    return TopicSpec(name=f"{prefix}.{TOPIC}", partitions=1, compacted=True)


class SchemaTopic:
    """The topic of one installation, as one process sees it."""

    def __init__(self, log: Log, shard: Shard) -> None:
        self._log = log
        self._shard = shard

    @property
    def name(self) -> str:
        """The topic's whole name."""
        return self._shard.topic

    async def register(self, schemas: Sequence[WrittenSchema]) -> Sequence[WrittenSchema]:
        """Writes those that are missing, and returns them once all are there.

        Raises `Refused` where this process may not write there, and `Unavailable`, `NotNow` or `Doubt` where the log
        was away for `REGISTER_S` seconds; what was written of them until then stays, and counts at the next try.
        """
        written: dict[str, WrittenSchema] = {}

        async def once() -> None:
            missing = await self.missing(schemas)
            written.update((each.fingerprint, each) for each in missing)
            for batch in self._batches(missing):
                await self._log.send(self._shard, batch)

        await _patiently(once)
        return tuple(written.values())

    async def missing(self, schemas: Sequence[WrittenSchema]) -> Sequence[WrittenSchema]:
        """Those that aren't there, or in whose place something else stands. Raises `NoSuchShard`, `Unavailable`."""
        held = await self._held()
        wanted = {each.fingerprint: each for each in schemas}
        return tuple(each for each in wanted.values() if not _holds(held.get(each.fingerprint), each))

    async def fault(self, schemas: Sequence[WrittenSchema]) -> TopicFault | None:
        """What `topics check` says where some are missing; None where none is. Raises as `missing`."""
        missing = await _patiently(lambda: self.missing(schemas))
        if not missing:
            return None
        named = ", ".join(str(each) for each in missing[:NAMED_MAX])
        more = f" and {len(missing) - NAMED_MAX} more" if len(missing) > NAMED_MAX else ""
        return TopicFault(
            topic=self.name,
            setting=TOPIC,
            expected=f"the {len(schemas)} schemas of this release",
            found=f"no {named}{more}",
            remedy="Say `interlock topics create`, or start a process of this release: either registers them.",
        )

    async def find(self, fingerprint: str) -> str | None:
        """Name and version of a schema that is registered now, by whichever release; None where none is.

        Raises `NoSuchShard`, `Unavailable`.
        """
        found = (await self._held()).get(fingerprint)
        if found is None:
            return None
        headers = dict(found.headers)
        name, version = (headers.get(each, b"?").decode("utf-8", "replace") for each in (H_NAME, H_VERSION))
        return f"{name} v{version}"

    async def _held(self) -> dict[str, Stored]:
        """Fingerprint → the last record that has it, of all that are there now."""
        extent = await self._log.extent(self._shard)
        reader = self._log.reader(self._shard, extent.first)
        held: dict[str, Stored] = {}
        try:
            # Compaction leaves gaps, at the end too: then nothing comes, although the end isn't reached.
            while reader.next_offset < extent.end and (records := await reader.read(READ_WAIT_S)):
                held.update((each.key.decode("utf-8", "replace"), each) for each in records)
        finally:
            await reader.close()
        return held

    def _batches(self, schemas: Sequence[WrittenSchema]) -> Iterator[list[Record]]:
        batch: list[Record] = []
        for schema in schemas:
            record = schema_record(schema)
            if batch and batch_bytes([*batch, record]) > self._log.batch_bytes_max:
                yield batch
                batch = []
            batch.append(record)
        if batch:
            yield batch


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    """What a call gives that may be repeated, once the log answers. Raises what it raises after `REGISTER_S`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + REGISTER_S
    while True:
        try:
            return await call()
        except (Doubt, NotNow, Unavailable):
            if loop.time() >= deadline:
                raise
        await asyncio.sleep(RETRY_S)


def schema_record(schema: WrittenSchema) -> Record:
    """A schema as it stands in the topic."""
    headers = ((H_NAME, schema.name.encode()), (H_VERSION, b"%d" % schema.version))
    return Record(schema.fingerprint.encode(), schema.text.encode(), headers)


def _holds(stored: Stored | None, schema: WrittenSchema) -> bool:
    """Whether a record holds a schema, whatever its documentation is."""
    if stored is None:
        return False
    if stored.value == schema.text.encode():
        return True
    try:
        return bool(_undocumented(json.loads(stored.value)) == _undocumented(json.loads(schema.text)))
    except ValueError:
        return False


def _undocumented(schema: object) -> object:
    if isinstance(schema, dict):
        members = cast("dict[str, object]", schema).items()
        return {name: _undocumented(value) for name, value in members if name != "doc"}
    if isinstance(schema, list):
        return [_undocumented(each) for each in cast("list[object]", schema)]
    return schema
