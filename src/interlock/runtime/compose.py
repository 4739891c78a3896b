"""The one place where everything is put together: adapters are named here and nowhere else.

sqlite:///path      one file, shared by the processes of one machine
kafka://host:port   Apache Kafka
memory:             this process alone, gone with it

Each with a blob store for what is too large for it: a directory, or a bucket.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from interlock.log.blobs.local import LocalBlobs
from interlock.log.blobs.log import BlobLog
from interlock.log.blobs.memory import MemoryBlobs
from interlock.log.blobs.store import Blobs
from interlock.log.group import MemoryPositions, ReadingGroup
from interlock.log.memory import FixedAssignment, MemoryLog
from interlock.log.sqlite.log import SqliteLog
from interlock.processors.executions.invoker import Invoker
from interlock.processors.ports import Bounds
from interlock.runtime.backend import Backend
from interlock.runtime.clock import process_clock, random_id
from interlock.runtime.engine import Engine, Parts
from interlock.runtime.extensions import Extensions, load_extensions
from interlock.runtime.roles import Role
from interlock.runtime.settings import Settings
from interlock.runtime.snapshot_files import SnapshotFiles
from interlock.schemas.codec import AvroCodec
from interlock.schemas.written import WrittenSchema

if TYPE_CHECKING:
    from interlock.log.kafka.settings import KafkaSettings

INGRESS_GROUP = "ingress"
"""The group that shares the stimuli topic; its positions are the only ones that are kept outside a journal."""


class UnknownLog(ValueError):
    """The address names no kind of log, or of blob store, that there is."""


def build(
    settings: Settings,
    roles: Sequence[Role],
    invoker: Invoker,
    *,
    backend: Backend | None = None,
    bounds: Bounds | None = None,
    extensions: Extensions | None = None,
) -> Engine:
    """An engine for production; a test hands in a backend, or extensions instead of those that are installed.

    Must be called on the running loop. Raises `UnknownLog`.
    """
    added = load_extensions() if extensions is None else extensions
    parts = Parts(
        backend=backend or open_backend(settings),
        codec=AvroCodec(),
        clock=process_clock(),
        ids=random_id,
        invoker=invoker,
        chance=random.Random(),
        bounds=bounds or Bounds(),
        providers=added.providers,
        validators=added.validators,
        observers=added.observers,
        # A log that is gone with its process leaves nothing to begin with.
        snapshots=None if settings.log_url.startswith("memory:") else SnapshotFiles(settings.data / "snapshots"),
    )
    return Engine(settings, roles, parts)


def open_backend(settings: Settings) -> Backend:
    """The log at the settings' address, with its blob store. Raises `UnknownLog`, and what the adapter raises where it
    can't be opened.
    """
    # First the one that opens nothing, so that nothing has to be closed where it is wrong.
    blobs = open_blobs(settings)
    bare = _open_log(settings)
    log = BlobLog(bare.log, blobs, AvroCodec())
    # Not around the stimuli: others write them, and what they write is never taken for a reference.
    return replace(bare, log=log, close=log.close)


def open_blobs(settings: Settings) -> Blobs:
    """The blob store of the settings; nothing is made and nobody is asked yet. Raises `UnknownLog`."""
    given = settings.blobs
    scheme = urlsplit(given).scheme
    if scheme not in ("", "file"):
        # Loaded where it is needed: most processes keep blobs in a directory.
        from interlock.log.blobs.object import ObjectBlobs

        try:
            return ObjectBlobs.at(given)
        except ValueError as error:
            raise UnknownLog(f"{error}; set INTERLOCK_BLOBS") from error
    directory = blobs_directory(settings)
    # One that somebody has chosen may be a mount, which must not be made where it is missing.
    return MemoryBlobs() if directory is None else LocalBlobs(directory, made=not given)


def blobs_directory(settings: Settings) -> Path | None:
    """The directory that blobs are kept in; None where they are in a bucket, or in memory."""
    given, url = urlsplit(settings.blobs), settings.log_url
    if given.scheme == "file":
        return Path(unquote(given.path))
    if given.scheme:
        return None
    if settings.blobs:
        return Path(settings.blobs)
    if url.startswith("memory:"):
        return None
    # Processes that share an embedded log may have data directories of their own.
    return (_sqlite_path(url).parent if url.startswith("sqlite:") else settings.data) / "blobs"


def _open_log(settings: Settings) -> Backend:
    url = settings.log_url
    scheme = urlsplit(url).scheme
    if scheme == "sqlite" and url.startswith("sqlite:///") and url != "sqlite:///":
        return _sqlite(url)
    if scheme == "kafka":
        return _kafka(settings, url)
    if scheme == "memory":
        return _memory()
    raise UnknownLog(
        f"expected a log at sqlite:///path, kafka://host:port or memory:, found {url!r}; set --log or INTERLOCK_LOG"
    )


def schemas() -> Sequence[WrittenSchema]:
    """Those of this release, for whoever registers or checks them without an engine."""
    return AvroCodec().schemas()


def kafka_settings(settings: Settings, url: str) -> "KafkaSettings":
    """What the address says, with what only settings may say (passwords, files)."""
    from interlock.log.kafka.settings import KafkaSettings

    given: dict[str, object] = {"session_s": settings.session_timeout_ms / 1000, "prefix": settings.topics_prefix}
    if settings.kafka_security_protocol != "PLAINTEXT":
        given["security_protocol"] = settings.kafka_security_protocol
    if settings.kafka_username:
        given |= {
            "username": settings.kafka_username,
            "password": settings.kafka_password,
            "sasl_mechanism": settings.kafka_sasl_mechanism,
        }
    files = {
        "ca_file": settings.kafka_ca_file,
        "cert_file": settings.kafka_cert_file,
        "key_file": settings.kafka_key_file,
    }
    return KafkaSettings.from_url(url, **given, **{name: path for name, path in files.items() if path is not None})


def _sqlite(url: str) -> Backend:
    path = _sqlite_path(url)
    path.parent.mkdir(parents=True, exist_ok=True)
    log = SqliteLog(path, now_ms=process_clock().now_ms)
    return Backend(
        log=log,
        admin=log,
        assign=lambda topic, _: log.assignment(topic),
        stimuli=lambda topic, _: log.group_source([topic], INGRESS_GROUP),
        close=log.close,
        makes_topics=True,
    )


def _sqlite_path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _kafka(settings: Settings, url: str) -> Backend:
    # Loaded where it is needed: a process on an embedded log starts without a Kafka client.
    from interlock.log.kafka.log import KafkaLog

    log = KafkaLog(kafka_settings(settings, url))
    return Backend(
        log=log,
        admin=log,
        assign=lambda topic, _: log.assignment(topic),
        stimuli=lambda topic, _: log.group_source([topic], INGRESS_GROUP),
        close=log.close,
        makes_topics=False,
    )


def _memory() -> Backend:
    log = MemoryLog()
    return Backend(
        log=log,
        admin=log,
        assign=lambda _, partitions: FixedAssignment(frozenset(range(partitions))),
        stimuli=lambda topic, partitions: ReadingGroup(
            log, {topic: FixedAssignment(frozenset(range(partitions)))}, MemoryPositions()
        ),
        close=log.close,
        makes_topics=True,
    )
