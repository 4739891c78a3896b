"""Journals as the recorders of the `eventsourcing` library: `PERSISTENCE_MODULE=interlock.log.recorder`.

    INTERLOCK_LOG=sqlite:///path                          one file, shared by the processes of one machine
    INTERLOCK_LOG=kafka://host:port?prefix=interlock      Apache Kafka

Each application has a journal of its own, `<prefix>.app.<name>.journal`, of one shard, made if it is missing; its
snapshots are in `<prefix>.app.<name>.snapshots`. The settings are the engine's (`INTERLOCK_…`), as the library reads
them: an application's own (`NAME_INTERLOCK_LOG`) beats the common one. docs/guides/eventsourcing.md has the rest.

Always true: notification ids are 1, 2, 3 … without a gap; versions of an originator are dense from 0 or 1; events that
were inserted together stand together. Any number of processes may write one application.

    caller's thread ─► Host ─► loop ─► Writer ─► journal
                 reads ◄─ Index ◄─ Follower ◄─┘

The modules of this package don't know how a log is opened: that is named in the topic `OPENER`.
"""

import re
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from eventsourcing.domain import TAggregateID
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    InfrastructureFactoryError,
    Mapper,
    ProcessRecorder,
    ProgrammingError,
    Transcoder,
)
from eventsourcing.utils import Environment, EnvType, resolve_topic, strtobool

from interlock.log.recorder.contracts import (
    JournalAggregateRecorder,
    JournalApplicationRecorder,
    JournalProcessRecorder,
    JournalRecorder,
    JournalTrackingRecorder,
)
from interlock.log.recorder.errors import closed
from interlock.log.recorder.host import Host, OpenedLog, Store
from interlock.schemas.codec import AvroMapper

OPENER = "interlock.runtime.recorder_log:open_recorder_log"
"""Where a log is opened from settings. By name, because what composes adapters stands above this package."""

NAME = re.compile(r"[A-Za-z0-9._-]{1,180}")
"""Names of applications that can be part of a topic's name on Kafka."""


Opener = Callable[[Callable[[str], str | None]], OpenedLog]
"""Opens the log that the settings name, which it asks for one by one; called on the loop that the log is used on."""

R = TypeVar("R", bound=JournalRecorder)


class JournalFactory(InfrastructureFactory[JournalTrackingRecorder]):
    """Makes recorders for the application that its environment names; opens the log when the first is asked for."""

    CREATE_TABLE = "CREATE_TABLE"
    """As in the library's own factories: "n" makes no topics, and refuses where one is missing."""
    LOG_OPENER_TOPIC = "INTERLOCK_LOG_OPENER"
    """Another `OPENER`, as for a log in memory."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Reads nothing and connects to nothing yet."""
        super().__init__(env)
        self._lock = Lock()
        self._host: Host | None = None
        self._closed = False

    def mapper(
        self, transcoder: Transcoder | None = None, mapper_class: type[Mapper[TAggregateID]] | None = None
    ) -> Mapper[TAggregateID]:
        """The library's, unless it is told of another: `AvroMapper`, which is the same for all but our own events."""
        if mapper_class is None and not self.env.get(self.MAPPER_TOPIC):
            mapper_class = AvroMapper[TAggregateID]
        return super().mapper(transcoder, mapper_class)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """For `events` on the application's journal; for another purpose ("snapshots") in a journal of its own."""
        if purpose == "events":
            return JournalAggregateRecorder(*self._open("journal", dense=True))
        return JournalAggregateRecorder(*self._open(purpose, dense=False))

    def application_recorder(self) -> ApplicationRecorder:
        """On the application's journal."""
        return self._recorder_class(self.APPLICATION_RECORDER_TOPIC, JournalApplicationRecorder)(*self._journal())

    def tracking_recorder(
        self, tracking_recorder_class: type[JournalTrackingRecorder] | None = None
    ) -> JournalTrackingRecorder:
        """On the application's journal, by a class of the caller's or of the environment, if there is one."""
        if tracking_recorder_class is None:
            tracking_recorder_class = self._recorder_class(self.TRACKING_RECORDER_TOPIC, JournalTrackingRecorder)
        return tracking_recorder_class(*self._journal())

    def process_recorder(self) -> ProcessRecorder:
        """On the application's journal."""
        return self._recorder_class(self.PROCESS_RECORDER_TOPIC, JournalProcessRecorder)(*self._journal())

    def close(self) -> None:
        """Finishes what was asked and closes the log; afterwards there is no thread and no connection left."""
        with self._lock:
            self._closed = True
            host, self._host = self._host, None
        if host is not None:
            host.close()

    def _journal(self) -> tuple[Host, Store]:
        return self._open("journal", dense=True)

    def _open(self, suffix: str, *, dense: bool) -> tuple[Host, Store]:
        name = self.env.name
        if name and not NAME.fullmatch(name):
            raise ProgrammingError(
                f"expected an application name of letters, digits, '.', '_' and '-', found {name!r}; set the "
                "attribute `name` of its class, because the names of its topics are made of it"
            )
        with self._lock:
            if self._closed:
                raise closed(f"the factory of {name or 'an application'}")
            if self._host is None:
                self._host = Host(self._opener())
            host = self._host
        topic = ".".join(part for part in (host.prefix, "app", name, suffix) if part)
        return host, host.store(topic, dense=dense, create=strtobool(self.env.get(self.CREATE_TABLE) or "y"))

    def _opener(self) -> Callable[[], OpenedLog]:
        opener: Opener = resolve_topic(self.env.get(self.LOG_OPENER_TOPIC) or OPENER)
        return lambda: opener(lambda key: self.env.get(key))

    def _recorder_class(self, key: str, default: type[R]) -> type[R]:
        topic = self.env.get(key)
        found: type[R] = resolve_topic(topic) if topic else default
        if not issubclass(found, default):
            raise InfrastructureFactoryError(
                f"expected {key} to name a subclass of {default.__name__}, found {topic!r}"
            )
        return found
