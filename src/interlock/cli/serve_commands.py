"""The verbs that run the engine: `up` and `serve`."""

from typing import Annotated

import typer

from interlock.cli.codes import usage
from interlock.cli.options import Apps, Data, LogUrl, Port


def add_to(app: typer.Typer) -> None:
    """Adds the verbs."""
    app.command("up")(up)
    app.command("serve")(serve)


def up(log: LogUrl = "", data: Data = None, app: Apps = None, port: Port = None) -> None:
    """Run everything in one process; topics that are missing are made."""
    from interlock.cli.process import Plan, run
    from interlock.cli.settings import load
    from interlock.runtime.roles import ROLES

    settings = load(log=log, data=data, app=app, port=port)
    run(Plan(settings=settings, roles=ROLES, makes_topics=True, listens=True))


def serve(
    roles: Annotated[
        list[str], typer.Argument(metavar="ROLE…", help="publishing, routing, executions, projector, reconciler, api.")
    ],
    log: LogUrl = "",
    data: Data = None,
    app: Apps = None,
    port: Port = None,
) -> None:
    """Run some roles; several processes make a system, and one may end at any time.

    A process without the role api answers /health/live, /health/ready and /metrics where --port says.
    """
    from interlock.cli.process import Plan, run
    from interlock.cli.settings import load
    from interlock.runtime.roles import ROLES, Role

    if unknown := [role for role in roles if role not in ROLES]:
        raise usage(f"expected roles of {', '.join(ROLES)}, found {unknown[0]!r}")
    settings = load(log=log, data=data, app=app, port=port)
    chosen: tuple[Role, ...] = tuple(role for role in ROLES if role in roles)
    # Without the API a process listens only where it is told, or two of them on one machine would want one port.
    run(Plan(settings=settings, roles=chosen, makes_topics=False, listens="api" in chosen or port is not None))
