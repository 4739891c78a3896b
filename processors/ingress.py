"""Takes stimuli from the topic that anyone may write to, to the shards where they belong.

It has no journal. It alone uses group offsets: they are committed after its writes, so a crash repeats what it sent and
loses nothing, and receivers drop repetitions by source (topic, its id, partition) and number (offset + 1). They are
committed seldom: on the embedded log that is a flush, which whatever is written next would wait for. For each
destination it sends in order, and nothing before what is in doubt is settled by sending it again.
What can't be read is forwarded too, so that the dead letter has a home.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from interlock.domain.messages import Origin, RouteStimulus
from interlock.domain.routing.intake import read_stimulus, shard_key
from interlock.log.port import BATCH_OVERHEAD_BYTES, GroupSource, Log, LogError, Record, Shard, Stored
from interlock.log.weight import Load
from interlock.processors.mail import Cause, sourced_record
from interlock.processors.ports import Bounds, Codec, Topics

log = logging.getLogger(__name__)


class Ingress:
    """Runs for ever on one process's share of the stimuli topic."""

    def __init__(
        self,
        *,
        source: GroupSource,
        topic_id: str,
        wire: Log,
        codec: Codec,
        topics: Topics,
        bounds: Bounds,
        shell: str,
        stimulus_bytes_max: int,
    ) -> None:
        self.stimuli = 0
        """Records taken since it was made."""
        self._source = source
        self._topic_id = topic_id
        self._log = wire
        self._codec = codec
        self._topics = topics
        self._bounds = bounds
        self._shell = shell
        self._bytes_max = stimulus_bytes_max
        self._reached: dict[Shard, int] = {}
        """Offsets to go on from that are not committed yet."""
        self._commit_at_s = 0.0
        """When they are due, by the loop's time."""

    async def run(self) -> None:
        """Ends only by cancellation, or where a record can't be sent for a reason that waiting doesn't mend."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                left_s = self._commit_at_s - loop.time() if self._reached else self._bounds.read_wait_s
                try:
                    polled = await self._source.poll(max(0.0, min(left_s, self._bounds.read_wait_s)))
                except LogError as error:
                    log.warning("the ingress waits: %s", error)
                    await asyncio.sleep(self._bounds.read_wait_s)
                    continue
                if polled:
                    await self._forward(polled)
                    self._note(polled, loop.time())
                if self._reached and loop.time() >= self._commit_at_s:
                    await self._commit()
        finally:
            # After a stop in order nothing has to be sent again.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._bounds.stop_s):
                    await self._commit()

    def _note(self, polled: Sequence[tuple[Shard, Sequence[Stored]]], now_s: float) -> None:
        """Remembers how far everything is sent on."""
        if not self._reached:
            self._commit_at_s = now_s + self._bounds.ingress_commit_s
        self._reached |= {shard: records[-1].offset + 1 for shard, records in polled}
        self.stimuli += sum(len(records) for _, records in polled)

    async def _commit(self) -> None:
        reached, self._reached = self._reached, {}
        if not reached:
            return
        try:
            await self._source.commit(reached)
        except LogError as error:
            # They are sent again by whoever reads on from the older offsets, and dropped by number.
            log.warning("the ingress could not commit its offsets: %s", error)

    async def _forward(self, polled: Sequence[tuple[Shard, Sequence[Stored]]]) -> None:
        batches: dict[Shard, list[Record]] = defaultdict(list)
        for shard, records in polled:
            for stored in records:
                destination, record = self._readdress(shard, stored)
                batches[destination].append(record)
        await asyncio.gather(*(self._send(shard, batch) for shard, batch in batches.items()))

    def _readdress(self, shard: Shard, stored: Stored) -> tuple[Shard, Record]:
        origin = Origin(
            channel="kafka", topic=f"{shard.topic}@{self._topic_id}", partition=shard.partition, offset=stored.offset
        )
        message = read_stimulus(
            stored.value, origin=origin, arrived_at_ms=stored.time_ms, shell=self._shell, bytes_max=self._bytes_max
        )
        key = shard_key(message)
        story = message.stimulus_id if isinstance(message, RouteStimulus) else message.dead_letter_id
        cause = Cause(f"{shard}@{stored.offset}", story, "")
        source = f"{shard}@{self._topic_id}"
        record = sourced_record(self._codec, key, message, source, stored.offset + 1, cause)
        return self._topics.inbox("routing", self._topics.partition("routing", key)), record

    async def _send(self, shard: Shard, batch: list[Record]) -> None:
        start = 0
        while start < len(batch):
            load, count = Load(), 0
            for record in batch[start:]:
                if not load.took(record, self._log.batch_bytes_max - BATCH_OVERHEAD_BYTES):
                    break
                count += 1
            try:
                await self._log.send(shard, batch[start : start + count])
            except LogError as error:
                log.warning("the ingress sends %d stimuli to %s again: %s", count, shard, error)
                await asyncio.sleep(self._bounds.courier_retry_ms / 1000)
                continue
            start += count
