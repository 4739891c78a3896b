"""Events of the catalogue as events of the `eventsourcing` library.

An event of ours is a fact without id or revision; the library's events carry both. `Fact` puts the two together, and
`FactMapper` stores it as the same Avro record that the engine writes, under the same stored name, upcasting included.
Every other event (users' own aggregates, snapshots) goes through the library's mapper and transcoder unchanged.

What would surprise: the library's cipher and compressor act on whole records, which readers of Avro could no longer
read. A fact is refused where one is configured, rather than left in the clear or made unreadable.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, cast

from eventsourcing.domain import DomainEventProtocol, TAggregateID
from eventsourcing.persistence import Mapper, MapperDeserialisationError, ProgrammingError, StoredEvent

from interlock.schemas.errors import SchemaError


class FactCodec(Protocol):
    """The part of `interlock.schemas.codec.AvroCodec` that is needed here."""

    def encode(self, item: object) -> bytes:
        """The record of a fact."""
        ...

    def decode(self, data: bytes) -> object:
        """The fact in a record."""
        ...

    def type_name(self, item: object) -> str:
        """The stored name of a fact."""
        ...

    def stores(self, name: str) -> bool:
        """Whether there is a type of that stored name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Generic[TAggregateID]):
    """An event of the catalogue, in the place that it has in its aggregate."""

    originator_id: TAggregateID
    """The aggregate."""
    originator_version: int
    """Its revision."""
    event: object
    """The event itself, of a type with a row in the catalogue."""


class FactMapper(Mapper[TAggregateID]):
    """Stores facts by a codec, and all else as the library's mapper does."""

    @property
    @abstractmethod
    def codec(self) -> FactCodec:
        """What writes and reads facts."""

    def to_stored_event(self, domain_event: DomainEventProtocol[TAggregateID]) -> StoredEvent:
        """Raises `ProgrammingError` for a fact under a cipher or compressor, `UnwritableRecord` for what is no fact."""
        originator_id, originator_version = domain_event.originator_id, domain_event.originator_version
        if not isinstance(domain_event, Fact):
            return super().to_stored_event(domain_event)
        if self.cipher is not None or self.compressor is not None:
            name = self.codec.type_name(domain_event.event)
            raise ProgrammingError(
                f"expected neither cipher nor compressor for {name}, found one: its records are Avro, which others "
                "read; use an application without them for such events"
            )
        return StoredEvent(
            originator_id=originator_id,
            originator_version=originator_version,
            topic=self.codec.type_name(domain_event.event),
            state=self.codec.encode(domain_event.event),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[TAggregateID]:
        """Raises `MapperDeserialisationError` where the record can't be read."""
        if not self.codec.stores(stored_event.topic):
            return super().to_domain_event(stored_event)
        try:
            event = self.codec.decode(stored_event.state)
        except SchemaError as error:
            raise MapperDeserialisationError(
                f"expected version {stored_event.originator_version} of {stored_event.originator_id} to be a "
                f"{stored_event.topic}: {error}"
            ) from error
        # A store gives back the id that it was given, so it is of the type that this mapper's events have.
        originator_id = cast("TAggregateID", stored_event.originator_id)
        return Fact(
            originator_id=originator_id,
            originator_version=stored_event.originator_version,
            event=event,
        )
