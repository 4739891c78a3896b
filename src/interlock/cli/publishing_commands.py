"""The verbs of publishing: who has authority, and how it changes."""

import sys
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from interlock.cli.asking import asking, user
from interlock.cli.codes import Code, CommandError, usage
from interlock.cli.lazily import lazily
from interlock.cli.options import After, Api, AsJson, AtLeast, Limit, Revision, Shell, Slot, Target, WaitS
from interlock.cli.output import print_json

if TYPE_CHECKING:
    from interlock.cli import show
    from interlock.sdk.types import Preflight, Published, Unpublished
else:
    show = lazily("interlock.cli.show")

C = TypeVar("C", "Published", "Unpublished")

NoWait = Annotated[bool, typer.Option("--no-wait", help="Don't wait until every routing shard decides by it.")]
CommandId = Annotated[str, typer.Option(help="Repeat an earlier command, and get its answer.")]
OwnerName = Annotated[
    str | None,
    typer.Option("--owner", metavar="KIND:ID", help="Whose the slot is or shall be, such as team:payments."),
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Another owner of the slot is no obstacle; --owner says who owns it then.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would do; change nothing.")]
Definition = Annotated[str, typer.Argument(metavar="DEFINITION", help="The definition's name.")]

WAIT_S = 30.0
"""How long a command waits until every routing shard decides by it."""


def add_to(app: typer.Typer) -> None:
    """Adds the verbs of one word."""
    app.command("preflight")(preflight)
    app.command("publish")(publish)
    app.command("unpublish")(unpublish)
    app.command("restore")(restore)


def preflight(
    target: Target,
    slot: Slot = None,
    expect_revision: Revision = None,
    owner: OwnerName = None,
    take_over: TakeOver = False,
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Say what a publish would do now; it changes nothing."""
    document = loaded(target)
    with asking(api, shell) as client:
        outcome = client.preflight(
            document, slot=slot, expect_revision=expect_revision, owner=owner, take_over=take_over
        )
    _looked(outcome, as_json=as_json)


def publish(
    target: Target,
    slot: Slot = None,
    expect_revision: Revision = None,
    owner: OwnerName = None,
    take_over: TakeOver = False,
    no_wait: NoWait = False,
    command_id: CommandId = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Let a definition take authority in a slot."""
    document, identity = loaded(target), command_id or uuid.uuid4().hex
    with repeatable(identity), asking(api, shell) as client:
        published = client.publish(
            document,
            slot=slot,
            expect_revision=expect_revision,
            owner=owner,
            take_over=take_over,
            command_id=identity,
            requested_by=user(),
            wait_s=0 if no_wait else WAIT_S,
        )
    _end(published, show.published, as_json=as_json)


def unpublish(
    definition: Definition,
    slot: Slot = None,
    expect_revision: Revision = None,
    owner: OwnerName = None,
    take_over: TakeOver = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    command_id: CommandId = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Empty a slot: it starts nothing any more, and runs that it started go on."""
    if dry_run:
        _require_no_command(no_wait, command_id)
        with asking(api, shell) as client:
            outcome = client.preflight_unpublish(
                definition, slot=slot, expect_revision=expect_revision, owner=owner, take_over=take_over
            )
        _looked(outcome, as_json=as_json)
        return
    identity = command_id or uuid.uuid4().hex
    with repeatable(identity), asking(api, shell) as client:
        unpublished = client.unpublish(
            definition,
            slot=slot,
            expect_revision=expect_revision,
            owner=owner,
            take_over=take_over,
            command_id=identity,
            requested_by=user(),
            wait_s=0 if no_wait else WAIT_S,
        )
    _end(unpublished, show.unpublished, as_json=as_json)


def restore(
    definition: Definition,
    publication: Annotated[str | None, typer.Option(metavar="P", help="The publication to restore.")] = None,
    previous: Annotated[
        bool, typer.Option("--previous", help="The one that had authority before the present one.")
    ] = False,
    slot: Slot = None,
    expect_revision: Revision = None,
    owner: OwnerName = None,
    take_over: TakeOver = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    command_id: CommandId = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Give an earlier publication of a slot its authority back, as a new one that all checks are made of."""
    if previous == (publication is not None):
        found = "both" if previous else "neither"
        raise usage(f"expected either --publication P or --previous, found {found}; `interlock publications list`")
    if dry_run:
        _require_no_command(no_wait, command_id)
        with asking(api, shell) as client:
            outcome = client.preflight_restore(
                definition,
                publication=publication,
                slot=slot,
                expect_revision=expect_revision,
                owner=owner,
                take_over=take_over,
            )
        _looked(outcome, as_json=as_json)
        return
    identity = command_id or uuid.uuid4().hex
    with repeatable(identity), asking(api, shell) as client:
        published = client.restore(
            definition,
            publication=publication,
            slot=slot,
            expect_revision=expect_revision,
            owner=owner,
            take_over=take_over,
            command_id=identity,
            requested_by=user(),
            wait_s=0 if no_wait else WAIT_S,
        )
    _end(published, show.published, as_json=as_json)


def slots_list(
    definition: Annotated[str | None, typer.Option(help="Only those of this definition.")] = None,
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List the slots, by definition and name."""
    with asking(api, shell, at_least) as client:
        page = client.slots(definition=definition, limit=limit, after=after or None)
    print_json(page) if as_json else show.slots(page)


def slots_show(
    definition: Annotated[str, typer.Argument(help="A definition, or definition/slot.")],
    name: Annotated[str, typer.Argument(help="The slot's name.")] = "",
    slot_name: Slot = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Show a slot and its authority."""
    if name and slot_name is not None:
        raise usage(f"expected the slot's name once, found {name!r} and --slot {slot_name!r}")
    if slot_name is not None:
        name = slot_name
    elif not name:
        definition, _, name = definition.partition("/")
    with asking(api, shell, at_least) as client:
        slot = client.slot(definition, name or "default")
    print_json(slot) if as_json else show.slot(slot)


def publications_list(
    definition: Annotated[str | None, typer.Option(help="Only those of this definition.")] = None,
    slot: Annotated[str | None, typer.Option(help="Only those of this slot of --definition.")] = None,
    status: Annotated[
        str | None, typer.Option(help="requested, pending-projection, active, retired, failed, superseded.")
    ] = None,
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List publications, the newest first."""
    with asking(api, shell, at_least) as client:
        page = client.publications(definition=definition, slot=slot, status=status, limit=limit, after=after or None)
    print_json(page) if as_json else show.publications(page)


def publications_show(
    publication_id: str,
    wait: WaitS = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Show a publication, and what it still waits for."""
    with asking(api, shell, at_least) as client:
        found = client.publication(publication_id, wait_s=wait)
    print_json(found) if as_json else show.publication(found)


@contextmanager
def repeatable(command_id: str) -> Generator[None, None, None]:
    """Says how a command is repeated whose answer got lost, or wasn't waited for: it may have been taken before."""
    try:
        yield
    except KeyboardInterrupt:
        again = f"give the same command with --command-id {command_id} to hear its answer; it does nothing twice"
        print(f"interlock: not waited for to the end, and it may have been taken; {again}", file=sys.stderr, flush=True)
        raise
    except CommandError as error:
        if error.code is not Code.UNREACHABLE:
            raise
        message = f"{error.message}; repeat it with --command-id {command_id}, which does nothing twice"
        details = {**error.details, "commandId": command_id}
        raise CommandError(error.code, message, kind=error.kind, details=details) from error


def _end(found: C, shown: Callable[[C], None], *, as_json: bool) -> None:
    """Tells how a change of authority stands, and ends the command accordingly."""
    print_json(found) if as_json else shown(found)
    if found.status == "pending":
        raise typer.Exit(Code.PENDING)


def _looked(outcome: "Preflight", *, as_json: bool) -> None:
    """Tells what a request would do; 1 where it would not be done."""
    print_json(outcome) if as_json else show.preflight(outcome)
    if outcome.action in ("lose", "conflict"):
        raise typer.Exit(Code.FAILED)


def _require_no_command(no_wait: bool, command_id: str) -> None:
    """Raises `CommandError` where options are given that a dry run has no use for."""
    if no_wait or command_id:
        raise usage("expected --dry-run without --no-wait and --command-id, found one of them; it sends no command")


def loaded(target: str) -> str:
    """The document of a target, as JSON text."""
    from interlock.targets import TargetError, load_target

    try:
        return load_target(target)
    except TargetError as error:
        raise usage(str(error)) from error
