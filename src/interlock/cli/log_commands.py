"""The verbs that touch the log themselves: `topics` and `doctor`."""

import typer

from interlock.cli.codes import Code
from interlock.cli.options import Api, AsJson, Data, LogUrl
from interlock.cli.output import print_json, print_table


def add_to(app: typer.Typer) -> None:
    """Adds the verbs."""
    topics = typer.Typer(help="The topics of an installation.", no_args_is_help=True, rich_markup_mode=None)
    topics.command("create")(topics_create)
    topics.command("check")(topics_check)
    app.add_typer(topics, name="topics")
    app.command("doctor")(doctor)


def topics_create(log: LogUrl = "", data: Data = None, as_json: AsJson = False) -> None:
    """Make the topics and register the schemas that are missing; existing ones stay as they are, and are checked."""
    import asyncio

    from interlock.cli.settings import load
    from interlock.cli.topics import create

    done = asyncio.run(create(load(log=log, data=data)))
    if as_json:
        print_json(done)
    else:
        print("\n".join(f"made {name}" for name in done.made) or "every topic was there already")
        if done.registered:
            print(f"registered {len(done.registered)} schemas")
        _print_faults(done.faults)
    if done.faults:
        raise typer.Exit(Code.FAILED)


def topics_check(log: LogUrl = "", data: Data = None, as_json: AsJson = False) -> None:
    """Say whether every topic is as the engine needs it, and every schema of this release registered."""
    import asyncio

    from interlock.cli.settings import load
    from interlock.cli.topics import check

    faults = asyncio.run(check(load(log=log, data=data)))
    if as_json:
        print_json({"faults": faults})
    elif faults:
        _print_faults(faults)
    else:
        print("every topic is as it has to be")
    if faults:
        raise typer.Exit(Code.FAILED)


def doctor(log: LogUrl = "", data: Data = None, api: Api = "", as_json: AsJson = False) -> None:
    """Look at everything that an installation needs, and say what to do where something is missing."""
    import asyncio

    from interlock.cli.doctor import examine

    findings = asyncio.run(examine(log, data, api))
    if as_json:
        print_json({"findings": findings})
    else:
        rows = [("ok" if each.ok else "NOT OK", each.what, each.found, each.remedy) for each in findings]
        print_table(("", "WHAT", "FOUND", "WHAT TO DO"), rows, "")
    if not all(each.ok for each in findings):
        raise typer.Exit(Code.FAILED)


def _print_faults(faults: object) -> None:
    from typing import cast

    from interlock.log.port import TopicFault

    rows = [
        (each.topic, each.setting, each.expected, each.found, each.remedy) for each in cast("list[TopicFault]", faults)
    ]
    if rows:
        print_table(("TOPIC", "SETTING", "EXPECTED", "FOUND", "WHAT TO DO"), rows, "")
