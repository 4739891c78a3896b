"""What an application may rely on beyond the library's own cases, on SQLite and on Kafka."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate
from eventsourcing.persistence import (
    DataError,
    InfrastructureFactoryError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    StoredEvent,
    Tracking,
)
from eventsourcing.utils import Environment, register_topic

from interlock.log.faults import LANDS, SEEN, AskOutcome, SendOutcome, never_lands
from interlock.log.frame import is_event
from interlock.log.kafka.log import KafkaLog
from interlock.log.memory import MemoryLog
from interlock.log.port import Record, Shard, Stored
from interlock.log.recorder import JournalFactory
from interlock.log.recorder.host import OpenedLog
from interlock.runtime.compose import open_backend
from interlock.runtime.settings import Settings
from tests.contract.eventsourcing_backends import sqlite_env
from tests.support.appends import read_appends

pytestmark = pytest.mark.contract

THREADS = "interlock"
"""What the names of our threads begin with."""

Construct = Callable[..., JournalFactory]


@pytest.fixture
def construct(env: dict[str, str]) -> Iterator[Construct]:
    """Makes factories, each as another process would have one; closes them, and looks that nothing is left."""
    factories: list[JournalFactory] = []

    def make(name: str = "Bench", **more: str) -> JournalFactory:
        factories.append(JournalFactory(Environment(name, env | more)))
        return factories[-1]

    yield make
    for factory in factories:
        factory.close()
    assert ours() == []


def ours() -> list[str]:
    """The threads of recorders and their logs that are alive."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(THREADS)]


def event(originator: object, version: int, state: bytes = b"state") -> StoredEvent:
    """An event of a text originator."""
    return StoredEvent(str(originator), version, "tests:Happened", state)


def states(events: Sequence[StoredEvent]) -> list[bytes]:
    return [each.state for each in events]


def test_two_processes_write_one_application_and_only_versions_conflict(construct: Construct) -> None:
    """Proves: LOG-01, LOG-02."""
    here, there = construct().application_recorder(), construct().application_recorder()
    ids: list[int] = []
    for number in range(1, 11):
        ids.extend(here.insert_events([event("a", number, b"here %d" % number)]) or ())
        ids.extend(there.insert_events([event("b", number, b"there %d" % number)]) or ())
        with pytest.raises(IntegrityError, match=f"version {number + 1} of a to be next, found {number}"):
            there.insert_events([event("a", number, b"late"), event("c", 1, b"never")])
    assert ids == list(range(1, 21))
    assert here.select_notifications(None, 100) == there.select_notifications(None, 100)
    assert there.select_events("c") == []


def test_processes_that_write_at_the_same_time_all_get_in(construct: Construct) -> None:
    recorders = [construct().application_recorder() for _ in range(3)]

    def write(number: int) -> list[int]:
        recorder, originator = recorders[number % 3], uuid4()
        return [id_ for version in range(20) for id_ in recorder.insert_events([event(originator, version)]) or ()]

    with ThreadPoolExecutor(6) as executor:
        found = [id_ for ids in executor.map(write, range(6)) for id_ in ids]
    assert sorted(found) == list(range(1, 121))
    assert {recorder.max_notification_id() for recorder in recorders} == {120}


def test_a_read_shows_what_another_process_has_just_recorded(construct: Construct) -> None:
    here, there = construct().application_recorder(), construct().application_recorder()
    for number in range(1, 21):
        here.insert_events([event("a", number, b"%d" % number)])
        assert states(there.select_events("a", desc=True, limit=1)) == [b"%d" % number]
        assert there.max_notification_id() == number


def test_a_subscription_is_woken_by_what_another_process_records(construct: Construct) -> None:
    here, there = construct().application_recorder(), construct().application_recorder()
    with there.subscribe(gt=None) as subscription:
        for number in range(1, 11):
            here.insert_events([event("a", number, b"%d" % number)])
            found = next(subscription)
            assert (found.id, found.state) == (number, b"%d" % number)


def test_a_subscription_that_waits_ends_when_the_application_is_closed(construct: Construct) -> None:
    factory = construct()
    recorder = factory.application_recorder()
    with recorder.subscribe(gt=None) as subscription, ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(list[object], subscription)
        recorder.insert_events([event("a", 1)])
        factory.close()
        assert len(waiting.result(30)) <= 1


@pytest.mark.parametrize("first", [0, 1])
def test_versions_of_an_originator_are_dense_from_0_or_1(construct: Construct, first: int) -> None:
    """Proves: LOG-01."""
    recorder = construct().application_recorder()
    with pytest.raises(IntegrityError, match="0 or 1 to be the first version of a, found 2"):
        recorder.insert_events([event("a", 2)])
    recorder.insert_events([event("a", first), event("a", first + 1)])
    with pytest.raises(IntegrityError, match=f"version {first + 2} to be next of a, found {first + 3}"):
        recorder.insert_events([event("a", first + 3)])
    with pytest.raises(IntegrityError):
        recorder.insert_events([event("a", first)])
    assert [each.originator_version for each in recorder.select_events("a")] == [first, first + 1]


def test_an_event_that_follows_what_another_process_recorded_is_no_gap(construct: Construct) -> None:
    here, there = construct().application_recorder(), construct().application_recorder()
    there.insert_events([event("b", 1)])
    here.insert_events([event("a", 1), event("a", 2)])
    assert there.insert_events([event("a", 3)]) == [4]


def test_events_and_tracking_are_recorded_together_or_not_at_all(construct: Construct) -> None:
    here, there = construct().process_recorder(), construct().process_recorder()
    here.insert_events([event("a", 1)], tracking=Tracking("upstream", 5))
    assert there.max_tracking_id("upstream") == 5
    with pytest.raises(IntegrityError, match="tracking of 'upstream' above 5, found 5"):
        there.insert_events([event("b", 1)], tracking=Tracking("upstream", 5))
    with pytest.raises(IntegrityError):
        there.insert_events([event("a", 1)], tracking=Tracking("upstream", 6))
    assert here.select_events("b") == []
    assert here.max_tracking_id("upstream") == 5


def test_applications_and_snapshots_have_journals_of_their_own(construct: Construct) -> None:
    orders, stock = construct("Orders"), construct("Stock")
    orders.application_recorder().insert_events([event("a", 1, b"order")])
    stock.application_recorder().insert_events([event("a", 1, b"stock")])
    snapshots = orders.aggregate_recorder("snapshots")
    snapshots.insert_events([event("a", 40, b"at 40")])
    snapshots.insert_events([event("a", 20, b"at 20")])
    with pytest.raises(IntegrityError, match="version 20 of a to be new"):
        snapshots.insert_events([event("a", 20, b"again")])
    assert states(snapshots.select_events("a")) == [b"at 20", b"at 40"]
    assert states(orders.application_recorder().select_events("a")) == [b"order"]
    assert stock.application_recorder().max_notification_id() == 1
    assert states(construct("Orders").aggregate_recorder("snapshots").select_events("a", desc=True, limit=1)) == [
        b"at 40"
    ]


def test_an_id_comes_back_as_the_type_that_it_was(construct: Construct) -> None:
    recorder = construct().application_recorder()
    number = uuid4()
    recorder.insert_events([StoredEvent(number, 1, "t", b""), StoredEvent("order-ß", 1, "t", b"")])
    assert [each.originator_id for each in recorder.select_notifications(1, 10)] == [number, "order-ß"]
    assert recorder.select_events(number)[0].originator_id == number


def read_journal(env: dict[str, str], topic: str) -> list[Stored]:
    """The events that count, as any reader of journals sees them."""

    async def read() -> list[Stored]:
        backend = open_backend(Settings.model_validate({"log": env["INTERLOCK_LOG"]}))
        try:
            appends = await read_appends(backend.log, Shard(topic, 0))
            return [each for append in appends for each in append.entries if is_event(each)]
        finally:
            await backend.close()

    return asyncio.run(read())


def test_the_journal_can_be_read_without_the_library(construct: Construct, env: dict[str, str]) -> None:
    """Proves: LOG-03."""
    recorder = construct("Orders").application_recorder()
    recorder.insert_events([event("a", 1, b"one"), event("a", 2, b"two")])
    recorder.insert_events([event("b", 1, b"three")])
    prefix = env["INTERLOCK_LOG"].partition("prefix=")[2] or "interlock"
    found = read_journal(env, f"{prefix}.app.Orders.journal")
    assert [(each.key, each.value) for each in found] == [(b"a", b"one"), (b"a", b"two"), (b"b", b"three")]
    headers = [dict(each.headers) for each in found]
    assert [each["position"] for each in headers] == [b"1", b"2", b"3"]
    assert [each["revision"] for each in headers] == [b"1", b"2", b"1"]
    assert {each["type"] for each in headers} == {b"tests:Happened"}


def index_file(env: dict[str, str]) -> Path:
    (found,) = Path(env["INTERLOCK_DATA"], "apps").glob("*.journal.sqlite")
    return found


@pytest.mark.parametrize("loss", ["nothing", "deleted", "damaged", "of another version"])
def test_an_index_is_taken_up_or_built_anew(construct: Construct, env: dict[str, str], loss: str) -> None:
    factory = construct()
    factory.application_recorder().insert_events([event("a", number) for number in range(1, 51)])
    factory.close()
    path = index_file(env)
    if loss == "deleted":
        path.unlink()
    elif loss == "damaged":
        path.write_bytes(b"no database at all" * 1000)
    elif loss == "of another version":
        data = bytearray(path.read_bytes())
        data[60:64] = (77).to_bytes(4)
        path.write_bytes(data)
    recorder = construct().application_recorder()
    assert len(recorder.select_events("a")) == 50
    assert recorder.insert_events([event("a", 51)]) == [51]


def test_an_index_of_a_log_that_is_gone_is_not_believed(
    construct: Construct, env: dict[str, str], tmp_path: Path
) -> None:
    factory = construct()
    factory.application_recorder().insert_events([event("a", 1, b"of the log before"), event("a", 2)])
    factory.close()
    if env["INTERLOCK_LOG"].startswith("sqlite"):
        for path in tmp_path.glob("log.sqlite*"):
            path.unlink()
    else:
        delete_topics(env)
    recorder = construct().application_recorder()
    assert recorder.max_notification_id() is None
    assert recorder.insert_events([event("a", 1, b"new")]) == [1]
    assert states(recorder.select_events("a")) == [b"new"]


def test_an_index_that_is_ahead_of_a_restored_log_is_built_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = Environment("Bench", sqlite_env(tmp_path))
    factory = JournalFactory(env)
    factory.application_recorder().insert_events([event("a", 1, b"saved")])
    factory.close()
    saved = (tmp_path / "log.sqlite").read_bytes()
    factory = JournalFactory(env)
    factory.application_recorder().insert_events([event("a", 2, b"lost")])
    factory.close()
    (tmp_path / "log.sqlite").write_bytes(saved)
    factory = JournalFactory(env)
    recorder = factory.application_recorder()
    assert states(recorder.select_events("a")) == [b"saved"]
    assert recorder.insert_events([event("a", 2, b"again")]) == [2]
    factory.close()
    assert "built anew" in caplog.text


def delete_topics(env: dict[str, str]) -> None:
    """Deletes the journal of the test's application."""

    async def delete() -> None:
        log = KafkaLog(env["INTERLOCK_LOG"])
        try:
            await log.delete(f"{log.settings.prefix}.app.Bench.journal")
        finally:
            await log.close()

    asyncio.run(delete())


def test_a_second_process_on_the_machine_goes_without_the_file_that_the_first_holds(construct: Construct) -> None:
    here, there = construct().application_recorder(), construct().application_recorder()
    here.insert_events([event("a", 1)])
    assert there.insert_events([event("a", 2)]) == [2]
    assert len(here.select_events("a")) == 2


def test_what_is_closed_says_so(construct: Construct) -> None:
    factory = construct()
    recorder = factory.application_recorder()
    factory.close()
    factory.close()
    assert ours() == []
    with pytest.raises(ProgrammingError, match="closed"):
        recorder.insert_events([event("a", 1)])
    with pytest.raises(ProgrammingError, match="closed"):
        recorder.select_events("a")
    with pytest.raises(ProgrammingError, match="closed"):
        factory.application_recorder()


def test_an_application_that_is_dropped_without_being_closed_leaves_nothing(env: dict[str, str]) -> None:
    factory = JournalFactory(Environment("Bench", env))
    recorder = factory.application_recorder()
    del factory
    gc.collect()
    assert recorder.insert_events([event("a", 1)]) == [1]
    del recorder
    gc.collect()
    assert ours() == []


def test_what_no_record_can_hold_is_refused_and_the_rest_goes_on(construct: Construct) -> None:
    recorder = construct().application_recorder()
    with pytest.raises(DataError, match=r"at most \d+ bytes at once"):
        recorder.insert_events([event("a", 1, bytes(65 << 20))])
    with pytest.raises(DataError, match="UTF-8"):
        recorder.insert_events([event("\udc80", 1)])
    large = [event("b", version, bytes(size)) for version, size in enumerate((200_000, 300_000, 5 << 20), 1)]
    assert recorder.insert_events(large) == [1, 2, 3]
    assert [each.state for each in recorder.select_events("b")] == [each.state for each in large]


def test_a_topic_that_is_missing_is_not_made_where_that_is_forbidden(construct: Construct) -> None:
    with pytest.raises(ProgrammingError, match=r"app\.Bench\.journal"):
        construct(CREATE_TABLE="n").application_recorder()
    construct().application_recorder().insert_events([event("a", 1)])
    assert construct(CREATE_TABLE="n").application_recorder().max_notification_id() == 1


def test_an_application_whose_name_makes_no_topic_is_refused(construct: Construct) -> None:
    with pytest.raises(ProgrammingError, match="found 'My Orders'"):
        construct("My Orders").application_recorder()


def test_an_application_may_have_a_log_of_its_own(construct: Construct, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.sqlite'}"
    construct("Orders", ORDERS_INTERLOCK_LOG=other).application_recorder().insert_events([event("a", 1)])
    assert (tmp_path / "other.sqlite").exists()


def test_a_library_application_works_on_aggregates(env: dict[str, str]) -> None:
    with Application[UUID](env=env) as here, Application[UUID](env=env) as there:
        aggregate = Aggregate()
        aggregate.trigger_event(Aggregate.Event)
        here.save(aggregate)
        copy: Aggregate = there.repository.get(aggregate.id)
        copy.trigger_event(Aggregate.Event)
        there.save(copy)
        aggregate.trigger_event(Aggregate.Event)
        with pytest.raises(IntegrityError):
            here.save(aggregate)
    assert ours() == []


@pytest.mark.parametrize(
    ("url", "found"),
    [("postgres://here", "postgres://here"), ("kafka://:a@here", "password"), ("sqlite:////proc/none/log", "proc")],
)
def test_an_address_that_names_no_log_is_refused(url: str, found: str, tmp_path: Path) -> None:
    factory = JournalFactory(Environment("Bench", {"INTERLOCK_LOG": url, "INTERLOCK_DATA": str(tmp_path)}))
    with pytest.raises(InfrastructureFactoryError, match=found):
        factory.application_recorder()
    factory.close()
    assert ours() == []


class Opener:
    """Opens a log in memory whose batches are lost as long as that is wanted."""

    def __init__(self) -> None:
        self.loses = True

    def __call__(self, get: Callable[[str], str | None]) -> OpenedLog:
        assert get("INTERLOCK_PREFIX") == "lossy"
        log = MemoryLog(faults=self)
        return OpenedLog(log=log, admin=log, prefix="lossy", data=None)

    def on_send(self, shard: Shard, batch: Sequence[Record]) -> SendOutcome:
        return never_lands() if self.loses else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        return SEEN


opener = Opener()


def test_what_its_caller_waits_for_no_longer_is_not_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    register_topic("tests:opener", opener)
    env = {"INTERLOCK_PREFIX": "lossy", "INTERLOCK_LOG_OPENER": "tests:opener"}
    factory = JournalFactory(Environment("Bench", env))
    recorder = factory.application_recorder()
    # Only this caller is in a hurry: the next one has to wait until the journal was opened again.
    with monkeypatch.context() as hurried:
        hurried.setattr("interlock.log.recorder.host.WRITE_S", 0.3)
        with pytest.raises(OperationalError, match=r"within 0\.3 s, found no outcome"):
            recorder.insert_events([event("a", 1, b"given up")])
    opener.loses = False
    assert recorder.insert_events([event("b", 1, b"new")]) == [1]
    assert states(recorder.select_notifications(1, 10)) == [b"new"]
    factory.close()
    assert ours() == []


def test_a_broker_that_is_not_there_is_an_operational_error(tmp_path: Path) -> None:
    log = "kafka://127.0.0.1:1?ask_s=0.2&connect_s=0.2"
    factory = JournalFactory(Environment("Bench", {"INTERLOCK_LOG": log, "INTERLOCK_DATA": str(tmp_path)}))
    with pytest.raises(OperationalError):
        factory.application_recorder()
    factory.close()
    assert ours() == []
