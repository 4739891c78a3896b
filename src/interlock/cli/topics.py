"""Making and checking topics, and opening a log for a short look."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from interlock.cli.codes import usage
from interlock.cli.settings import log_problem
from interlock.log.port import LogError, TopicFault
from interlock.runtime import compose
from interlock.runtime.backend import Backend
from interlock.runtime.clock import wall_ms
from interlock.runtime.settings import Settings
from interlock.runtime.topics import schemas_of, topic_faults, topic_specs


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """What `topics create` did, and what is wrong all the same."""

    made: list[str]
    """Topics."""
    registered: list[str]
    """Schemas, as "executions.TimerSet v1"."""
    faults: list[TopicFault]


async def create(settings: Settings) -> Created:
    """Makes the topics and registers the schemas that are missing. Raises `CommandError`."""
    async with opened(settings) as backend:
        made = list(await backend.admin.create(topic_specs(settings)))
        registered = await schemas_of(settings, backend.log).register(compose.schemas())
        faults = await _faults(settings, backend)
        return Created(made=made, registered=[str(each) for each in registered], faults=faults)


async def check(settings: Settings) -> list[TopicFault]:
    """What is wrong with the topics. Raises `CommandError`."""
    if (missing := embedded_missing(settings)) is not None:
        return [
            TopicFault(
                topic=spec.name,
                setting="existence",
                expected="a topic",
                found=f"no log at {missing}",
                remedy="say `interlock topics create`, or `interlock up`, which makes it",
            )
            for spec in topic_specs(settings)
        ]
    async with opened(settings) as backend:
        return await _faults(settings, backend)


async def _faults(settings: Settings, backend: Backend) -> list[TopicFault]:
    """Everything for which a process would not start on this log."""
    specs = topic_specs(settings)
    faults = await topic_faults(backend.admin, settings)
    if len({fault.topic for fault in faults if fault.setting == "topic"}) == len(specs):
        # Nothing has been made yet, and to ask for the brokers' time would make a topic.
        return faults
    topic = schemas_of(settings, backend.log)
    if not any(fault.setting == "topic" and fault.topic == topic.name for fault in faults):
        fault = await topic.fault(compose.schemas())
        faults += [] if fault is None else [fault]
    skew_ms = -1000 * await backend.admin.clock_skew_s(wall_ms)
    if abs(skew_ms) > settings.max_clock_skew_ms:
        faults.append(
            TopicFault(
                topic="all",
                setting="clock",
                expected=f"within {settings.max_clock_skew_ms} ms of the log's",
                found=f"{round(skew_ms):+d} ms",
                remedy="Set the clocks of this machine and of the brokers (NTP).",
            )
        )
    return faults


def embedded_missing(settings: Settings) -> Path | None:
    """The file of an embedded log that nobody has made yet; a look at it must not make it."""
    url = settings.log_url
    path = Path(url.removeprefix("sqlite:///"))
    return path if url.startswith("sqlite:///") and not path.exists() else None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[Backend, None]:
    """The log, for as long as it is needed. Raises `CommandError`."""
    try:
        backend = compose.open_backend(settings)
    except compose.UnknownLog as error:
        raise usage(str(error)) from error
    except (LogError, OSError, ValueError) as error:
        raise log_problem(settings, error) from error
    try:
        yield backend
    except LogError as error:
        raise log_problem(settings, error) from error
    finally:
        await backend.close()
