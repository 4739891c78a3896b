"""The library's mapper over our codec: facts of the catalogue as Avro, everything else as the library has it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from eventsourcing.application import Application
from eventsourcing.compressor import ZlibCompressor
from eventsourcing.domain import Aggregate
from eventsourcing.persistence import (
    DatetimeAsISO,
    JSONTranscoder,
    Mapper,
    MapperDeserialisationError,
    ProgrammingError,
    StoredEvent,
    UUIDAsHex,
)
from eventsourcing.utils import Environment, resolve_topic

from examples import plain_client
from interlock.domain.executions.execution.events import TimerFired
from interlock.log.recorder import JournalFactory
from interlock.schemas.codec import SINGLE_OBJECT, AvroCodec, AvroMapper
from interlock.schemas.mapper import Fact
from tests.contract.eventsourcing_backends import sqlite_env
from tests.support.outside import Embedded
from tests.support.releases import NewerRelease, OlderRelease

pytestmark = pytest.mark.contract


@pytest.fixture
def transcoder() -> JSONTranscoder:
    """As an application registers it."""
    transcoder = JSONTranscoder()
    transcoder.register(UUIDAsHex())
    transcoder.register(DatetimeAsISO())
    return transcoder


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application[str]]:
    """An application whose aggregates are named by text, as ours are."""
    with Application[str](env=sqlite_env(tmp_path)) as app:
        yield app


def an_event() -> TimerFired:
    return TimerFired(node_id="pay", at_ms=1_700_000_000_000)


def fact(version: int = 3) -> Fact[str]:
    return Fact(originator_id="run-1", originator_version=version, event=an_event())


def test_a_fact_is_stored_as_the_record_that_the_engine_writes(transcoder: JSONTranscoder) -> None:
    mapper = AvroMapper[str](transcoder)
    stored = mapper.to_stored_event(fact())
    assert (stored.originator_id, stored.originator_version) == ("run-1", 3)
    assert stored.topic == AvroCodec().type_name(an_event())
    assert stored.state == AvroCodec().encode(an_event())
    assert stored.state.startswith(SINGLE_OBJECT)
    assert mapper.to_domain_event(stored) == fact()


def test_other_events_are_stored_as_the_library_stores_them(transcoder: JSONTranscoder) -> None:
    created = Aggregate().collect_events()[0]
    ours, theirs = AvroMapper[UUID](transcoder), Mapper[UUID](transcoder)
    assert ours.to_stored_event(created) == theirs.to_stored_event(created)
    assert ours.to_domain_event(theirs.to_stored_event(created)) == created


def test_a_fact_is_neither_encrypted_nor_compressed_as_a_whole(transcoder: JSONTranscoder) -> None:
    mapper = AvroMapper[str](transcoder, compressor=ZlibCompressor())
    with pytest.raises(ProgrammingError, match="neither cipher nor compressor"):
        mapper.to_stored_event(fact())


def test_a_fact_that_cannot_be_read_is_told_with_its_place(transcoder: JSONTranscoder) -> None:
    stored = StoredEvent("run-1", 3, AvroCodec().type_name(an_event()), b"\xc3\x01 damaged")
    with pytest.raises(MapperDeserialisationError, match="version 3 of run-1"):
        AvroMapper[str](transcoder).to_domain_event(stored)


class NewerMapper(AvroMapper[str]):
    """The mapper of a release with a version 2 of every type."""

    release: NewerRelease

    @property
    def codec(self) -> AvroCodec:
        """That release's."""
        return self.release


def test_a_fact_of_an_older_release_is_lifted(
    app: Application[str], transcoder: JSONTranscoder, tmp_path: Path
) -> None:
    """Proves: LOG-04"""
    NewerMapper.release = NewerRelease(tmp_path / "schemas")
    older = OlderRelease(NewerMapper.release)
    app.recorder.insert_events([StoredEvent("run-1", 1, older.type_name(an_event()), older.encode(an_event()))])
    [stored] = app.recorder.select_events("run-1")
    assert older.wrote(stored.state)
    assert NewerMapper(transcoder).to_domain_event(stored) == fact(1)


def test_a_fact_of_a_newer_release_is_told_as_such(transcoder: JSONTranscoder, tmp_path: Path) -> None:
    """Proves: LOG-04"""
    unknown = OlderRelease(NewerRelease(tmp_path)).encode(an_event())
    stored = StoredEvent("run-1", 1, AvroCodec().type_name(an_event()), unknown)
    with pytest.raises(MapperDeserialisationError, match=r"this release doesn't know the schema .* upgrade"):
        AvroMapper[str](transcoder).to_domain_event(stored)


def test_the_schema_of_a_fact_is_registered_for_plain_clients(app: Application[str], tmp_path: Path) -> None:
    """Proves: LOG-03"""
    app.events.put([fact(1)])
    [stored] = app.recorder.select_events("run-1")
    with Embedded(f"sqlite:///{tmp_path / 'log.sqlite'}") as outside:
        schemas = plain_client.registered(outside.read("interlock.schemas"))
    assert plain_client.decoded(bytes(stored.state), schemas) == {"node_id": "pay", "at_ms": 1_700_000_000_000}


def test_facts_go_through_an_application_and_come_back(app: Application[str]) -> None:
    app.events.put([fact(1), fact(2)])
    assert list(app.events.get("run-1")) == [fact(1), fact(2)]
    found = app.recorder.select_notifications(1, 10)
    assert [AvroCodec().decode(each.state) for each in found] == [an_event(), an_event()]


def test_the_factory_takes_the_mapper_that_it_is_told_of(tmp_path: Path, transcoder: JSONTranscoder) -> None:
    env = Environment("Bench", sqlite_env(tmp_path))
    ours: Mapper[UUID] = JournalFactory(env).mapper(transcoder)
    given = JournalFactory(env).mapper(transcoder, Mapper[UUID])
    env["MAPPER_TOPIC"] = "eventsourcing.persistence:Mapper"
    named: Mapper[UUID] = JournalFactory(env).mapper(transcoder)
    assert [each.__class__ for each in (ours, given, named)] == [AvroMapper, Mapper, Mapper]
    assert resolve_topic("interlock.schemas.codec:AvroMapper") is AvroMapper
