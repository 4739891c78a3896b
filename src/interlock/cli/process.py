"""One process of the engine from its start to its end.

start: apps are imported ─► the port is taken ─► engine starts ─► the API listens
end:   first SIGTERM or SIGINT ─► requests are answered, no new ones ─► engine.close() ─► exit code 0
       second one ─► the process ends at once; nothing that was acknowledged is lost by that
"""

import asyncio
import logging
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlock.activities import Activities, AuthoringError
from interlock.cli.codes import Code, CommandError, usage
from interlock.cli.ending import Ending
from interlock.cli.lazily import lazily
from interlock.cli.logs import set_up_logging
from interlock.cli.settings import log_problem, shown_log
from interlock.log.port import LogError
from interlock.projections.files import ViewHeld
from interlock.projections.store import StoreAway
from interlock.runtime import compose, garbage
from interlock.runtime.engine import Engine, Unfit
from interlock.runtime.roles import Role
from interlock.runtime.settings import Settings
from interlock.targets import TargetError, collect

if TYPE_CHECKING:
    from interlock.cli import http
else:
    # A process that answers nobody needn't load what answers.
    http = lazily("interlock.cli.http")

log = logging.getLogger("interlock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a process is to do."""

    settings: Settings
    roles: tuple[Role, ...]
    makes_topics: bool
    """Whether topics that are missing are made on any log, or on an embedded one only."""
    listens: bool
    """Whether it answers HTTP: with the role `api` all of it, else only how the process is."""


def run(plan: Plan) -> None:
    """Runs the process until a signal ends it. Raises `CommandError`."""
    set_up_logging()
    activities = load_apps(plan.settings.app)
    process = _Process(plan, activities)
    garbage.look_seldom()
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        ending = Ending(runner.get_loop(), process.stop)
        try:
            runner.run(process.run())
        except BaseException:
            ending.undo()
            raise
        ending.leave()


def load_apps(apps: tuple[str, ...]) -> Activities:
    """The activities of the apps. Raises `CommandError`."""
    try:
        return collect(*apps) if apps else Activities()
    except (TargetError, AuthoringError) as error:
        raise usage(str(error)) from error


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


class _Process:
    def __init__(self, plan: Plan, activities: Activities) -> None:
        self._plan = plan
        self._activities = activities
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Lets `run` end in order."""
        self._stop.set()

    async def run(self) -> None:
        """From start to end."""
        listener = http.listen(self._plan.settings) if self._plan.listens else None
        engine = self._engine()
        started = False
        try:
            started = await self._started(engine)
            if not started:
                return
            log.info("serving %s on %s", ", ".join(engine.roles), shown_log(self._plan.settings))
            if listener is None:
                await self._stop.wait()
            else:
                await http.serve_http(engine, listener, self._stop)
        finally:
            if listener is not None:
                listener.close()
            if started:
                log.info("ending: shards finish their turns and leave")
            await engine.close()
            if started:
                log.info("ended in order")

    def _engine(self) -> Engine:
        settings = self._plan.settings
        try:
            backend = compose.open_backend(settings)
            backend = replace(backend, makes_topics=backend.makes_topics or self._plan.makes_topics)
            return compose.build(settings, self._plan.roles, self._activities, backend=backend)
        except compose.UnknownLog as error:
            raise usage(str(error)) from error
        except (LogError, OSError, ValueError) as error:
            raise log_problem(settings, error) from error

    async def _started(self, engine: Engine) -> bool:
        """Starts the engine; False where a signal came first. Raises `CommandError`."""
        starting = asyncio.ensure_future(engine.start())
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                return False
            starting.result()
        except (Unfit, ViewHeld) as error:
            raise CommandError(Code.FAILED, str(error), kind="state") from error
        except LogError as error:
            raise log_problem(self._plan.settings, error) from error
        except (OSError, StoreAway) as error:
            found = error.__cause__ if isinstance(error, StoreAway) else error
            raise CommandError(
                Code.FAILED,
                f"expected to write to the data directory {self._plan.settings.data}, found: {found}; make room or "
                "make it writable, or name another one with --data or INTERLOCK_DATA",
                kind="state",
            ) from error
        finally:
            for task in (starting, stopped):
                task.cancel()
            await asyncio.gather(starting, stopped, return_exceptions=True)
        return True
