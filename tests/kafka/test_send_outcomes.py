"""What a caller is told of a batch, for everything that a broker may answer or not; no broker is needed."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from interlock.log.kafka import wire
from interlock.log.kafka.cluster import Cluster, NoAnswer, NotReached
from interlock.log.kafka.send import TURNED_AWAY, Sender
from interlock.log.kafka.settings import KafkaSettings
from interlock.log.kafka.wire import Landed
from interlock.log.port import BatchTooLarge, Doubt, LogError, NoSuchShard, NotNow, Record, Refused, Shard
from interlock.testing.virtual_time import run_virtual

SHARD = Shard("journal", 0)
OTHER = Shard("journal", 1)
SEND_S = 5.0

Answer = Callable[[Mapping[Shard, int]], Mapping[Shard, Landed]]
"""From the sizes of the batches of a request to what the broker says of each."""


class ScriptedCluster:
    """A cluster of one broker that answers as it is told; the last answer is repeated."""

    def __init__(self, *answers: Answer | Exception | None) -> None:
        self.settings = KafkaSettings(bootstrap=("none:1",), send_s=SEND_S)
        self.requests: list[Mapping[Shard, int]] = []
        self.reachable = True
        self._answers = list(answers)

    async def leader(self, shard: Shard) -> int:
        """Always the one broker."""
        await asyncio.sleep(0)
        return 1

    def suspect(self, topic: str) -> None:
        """Nothing to forget."""

    def known_id(self, topic: str) -> str:
        """One life."""
        return "id"

    async def reach(self, node: int, lane: str) -> None:
        """Connects, or not."""
        await asyncio.sleep(0.01)
        if not self.reachable:
            raise NotReached("nobody there")

    async def call(self, node: int, call: wire.Call[Any], *, timeout_s: float, lane: str) -> object:
        """Answers the next request; None hangs."""
        request = cast("Any", call.request)
        sizes = {Shard(t, p): len(buffer) for t, partitions in request._topics for p, buffer in partitions}
        self.requests.append(sizes)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        await asyncio.sleep(0.01)
        if answer is None:
            await asyncio.sleep(timeout_s)
            raise NoAnswer("it hung")
        if isinstance(answer, Exception):
            raise answer
        return answer(sizes)


def sender_of(cluster: ScriptedCluster) -> Sender:
    return Sender(cast("Cluster", cluster))


def says(code: int, base: int) -> Answer:
    return lambda sizes: {shard: Landed(code, base, 0) for shard in sizes}


def says_nothing(sizes: Mapping[Shard, int]) -> Mapping[Shard, Landed]:
    return {}


def batch(count: int = 1, size: int = 10) -> list[Record]:
    return [Record(b"k", bytes(size))] * count


def told(*answers: Answer | Exception | None) -> tuple[type[LogError] | int, int]:
    """What the caller of one batch is told, and how many requests there were."""
    cluster = ScriptedCluster(*answers)

    async def scenario() -> type[LogError] | int:
        try:
            return await sender_of(cluster).send(SHARD, batch())
        except LogError as error:
            return type(error)

    return run_virtual(scenario()), len(cluster.requests)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (says(0, 7), 7),
        (says(0, -1), Doubt),  # acknowledged without an offset
        (says(7, 7), Doubt),  # written, and its followers did not answer in time
        (says(20, 7), Doubt),  # written, and then too few in-sync replicas
        (says(6, 7), Doubt),  # written, and then the leadership was lost
        (says(56, -1), Doubt),  # the disk failed, before or behind the write
        (says(-1, -1), Doubt),  # an error that has no name
        (says(4242, -1), Doubt),  # an error that is not known here
        (says(10, -1), BatchTooLarge),
        (says(18, -1), BatchTooLarge),
        (says(17, -1), NoSuchShard),
        (says(29, -1), Refused),
        (says(87, -1), Refused),
        (NoAnswer("the connection broke"), Doubt),
        (None, Doubt),
        (ValueError("not to be decoded"), Doubt),
        (says_nothing, Doubt),  # an answer for other shards
    ],
)
def test_each_answer_means_one_thing_and_only_one_request_is_made(
    answer: Answer | Exception | None, expected: type[LogError] | int
) -> None:
    """Proves: LOG-02, LOG-06 (only what proves that nothing was written is a refusal)."""
    assert told(answer) == (expected, 1)


@pytest.mark.parametrize("code", sorted(TURNED_AWAY))
def test_a_batch_that_was_turned_away_is_sent_again(code: int) -> None:
    """Without a base offset nothing was written, so the same batch may be sent again; it lands once."""
    assert told(says(code, -1), says(code, -1), says(0, 3)) == (3, 3)


def test_what_is_turned_away_to_the_end_never_lands() -> None:
    outcome, requests = told(says(19, -1))
    assert outcome is NotNow
    assert requests > 10


def test_what_finds_no_connection_was_not_sent() -> None:
    cluster = ScriptedCluster(says(0, 0))
    cluster.reachable = False

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(NotNow, match="nobody there"):
            await sender_of(cluster).send(SHARD, batch())
        assert loop.time() - began == pytest.approx(SEND_S)

    run_virtual(scenario())
    assert cluster.requests == []


def test_what_waits_behind_a_request_that_hangs_was_not_sent() -> None:
    """It goes with the next request if its caller still waits by then, else it never lands."""
    cluster = ScriptedCluster(None, says(0, 9))

    async def scenario() -> None:
        sender = sender_of(cluster)
        first = asyncio.create_task(sender.send(SHARD, batch()))
        await asyncio.sleep(1.0)
        second = asyncio.create_task(sender.send(SHARD, batch()))
        third = asyncio.create_task(sender.send(OTHER, batch()))
        await asyncio.sleep(0)
        third.cancel()
        answers = await asyncio.gather(first, second, third, return_exceptions=True)
        assert isinstance(answers[0], Doubt)
        assert answers[1] == 9
        assert isinstance(answers[2], asyncio.CancelledError)

    run_virtual(scenario())
    assert [set(sizes) for sizes in cluster.requests] == [{SHARD}, {SHARD}]


def test_while_one_request_is_on_its_way_all_others_gather() -> None:
    """Batches of one shard share a record batch, in their order, and each is told its own offset."""
    cluster = ScriptedCluster(says(0, 100))

    async def scenario() -> None:
        sender = sender_of(cluster)
        sends = [sender.send(SHARD, batch(number)) for number in (1, 2, 3)] + [sender.send(OTHER, batch(4))]
        assert await asyncio.gather(*sends) == [100, 101, 103, 100]

    run_virtual(scenario())
    assert [set(sizes) for sizes in cluster.requests] == [{SHARD, OTHER}]


def test_what_does_not_fit_beside_others_waits_for_the_next_request_in_its_order() -> None:
    cluster = ScriptedCluster(says(0, 0))
    largest = cluster.settings.batch_bytes_max

    async def scenario() -> None:
        sender = sender_of(cluster)
        large = batch(1, largest // 2 + 1)
        await asyncio.gather(sender.send(SHARD, large), sender.send(SHARD, large), sender.send(SHARD, batch()))

    run_virtual(scenario())
    assert len(cluster.requests) == 2
    assert all(sizes[SHARD] <= largest for sizes in cluster.requests)


def test_closing_settles_everything() -> None:
    cluster = ScriptedCluster(None)

    async def scenario() -> None:
        sender = sender_of(cluster)
        sent = asyncio.create_task(sender.send(SHARD, batch()))
        await asyncio.sleep(1.0)
        queued = asyncio.create_task(sender.send(OTHER, batch()))
        await asyncio.sleep(0.1)
        await sender.close()
        answers = await asyncio.gather(sent, queued, return_exceptions=True)
        assert [type(each) for each in answers] == [Doubt, NotNow]
        with pytest.raises(NotNow):
            await sender.send(SHARD, batch())

    run_virtual(scenario())
