"""The verbs of looking back and of setting right: history, why, reconcile, repairs, verify."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.cli.asking import asking, user
from interlock.cli.codes import Code, usage
from interlock.cli.lazily import lazily
from interlock.cli.options import After, Api, AsJson, AtLeast, Limit, Shell
from interlock.cli.output import print_json

if TYPE_CHECKING:
    from interlock.cli import show_audit as show
else:
    show = lazily("interlock.cli.show_audit")


def add_to(app: typer.Typer) -> None:
    """Adds the verbs of one word."""
    app.command("history")(history)
    app.command("why")(why)
    app.command("reconcile")(reconcile)


def history(
    aggregate: Annotated[str, typer.Argument(help="execution:<id> or another stream, an id, or definition/slot.")],
    limit: Annotated[int | None, typer.Option(min=1, max=1000, help="The most events.")] = None,
    after: Annotated[str, typer.Option("--after", help="Only events above this revision.")] = "",
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="REVISION|INSTANT", help="Its state as of then (2026-03-01T12:00:00Z), as JSON."),
    ] = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Show the events of an aggregate in order, or with --at what it was then."""
    if at == "":
        raise usage("expected --at with a revision or an instant such as 2026-03-01T12:00:00Z, found ''")
    if at is not None and (limit is not None or after):
        raise usage("expected --at without --limit and --after, found both; a state is of all events up to then")
    with asking(api, shell, at_least) as client:
        if at is not None:
            state = client.state(aggregate, at=at)
            print_json(state) if as_json else show.state(state)
            return
        page = client.history(aggregate, limit=limit, after=after or None)
    print_json(page) if as_json else show.history(page)


def why(
    definition: Annotated[str, typer.Argument(help="A definition.")],
    slot: Annotated[str, typer.Option("--slot", help="The slot's name.")] = "default",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Say why a slot selects what it selects: who asked, what decided, what was prepared, what it replaced."""
    with asking(api, shell, at_least) as client:
        found = client.why(definition, slot)
    print_json(found) if as_json else show.why(found)


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only compare, and repair nothing.")] = False,
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Compare the trigger index with what the slots call for, and have repaired what differs.

    Ends with 1 where a dry run finds rows that are wrong, or where a copy needs an operator; with 3 where repairs are
    still to come, or a copy could not be compared yet.
    """
    with asking(api, shell) as client:
        found = client.reconcile(dry_run=dry_run, requested_by=user())
    print_json(found) if as_json else show.reconciled(found)
    if any(copy.state == "stopped" for copy in found.copies) or (dry_run and found.drifted):
        raise typer.Exit(Code.FAILED)
    unsettled = any(one.outcome in ("asked", "refused") for one in found.drifted)
    if unsettled or any(copy.state in ("behind", "warming up") for copy in found.copies):
        raise typer.Exit(Code.PENDING)


def repairs_list(
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List what reconciliation has repaired, the newest first."""
    with asking(api, shell, at_least) as client:
        page = client.repairs(limit=limit, after=after or None)
    print_json(page) if as_json else show.repairs(page)


def projections_verify(
    views: Annotated[list[str] | None, typer.Argument(help="The views; all of them if none is named.")] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Don't wait until it is done.")] = False,
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Compare every row of views with a fresh fold of the journals, and change nothing; 1 where any row differs."""
    from interlock.cli.rebuild import follow_verification

    with asking(api, shell) as client:
        names = views or [each.view for each in client.projections()]
        found = [client.verify(name) for name in names]
        if not no_wait:
            # With --json nothing but the one document goes to stdout.
            say = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
            found = [follow_verification(client, each, say) for each in found]
    print_json(found) if as_json else show.verifications(found)
    if any(each.state == "failed" or each.differs for each in found):
        raise typer.Exit(Code.FAILED)
    if any(each.state != "done" for each in found):
        raise typer.Exit(Code.PENDING)
