"""The verbs that speak to the API, and how their answers look."""

import json
import sys
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from interlock.cli import audit_commands, publishing_commands
from interlock.cli.asking import asking, user
from interlock.cli.codes import Code, usage
from interlock.cli.lazily import lazily
from interlock.cli.options import After, Api, AsJson, AtLeast, Limit, Shell, WaitS
from interlock.cli.output import print_json

if TYPE_CHECKING:
    from interlock.cli import show
else:
    show = lazily("interlock.cli.show")


def add_to(app: typer.Typer) -> None:
    """Adds the verbs."""
    publishing_commands.add_to(app)
    app.command("emit")(emit)
    app.command("test-run")(start_test_run)
    audit_commands.add_to(app)
    for name, (help_, commands) in GROUPS.items():
        group = typer.Typer(help=help_, no_args_is_help=True, rich_markup_mode=None)
        for command, function in commands.items():
            group.command(command)(function)
        app.add_typer(group, name=name)


# ---- stimuli --------------------------------------------------------------------------------------------------------


def emit(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="The stimulus type: Event.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as order.placed.")],
    data: Annotated[str, typer.Option("--data", metavar="JSON|@FILE|-", help="The payload.")] = "{}",
    idempotency_key: Annotated[str | None, typer.Option(metavar="K", help="Names what happened.")] = None,
    correlation: Annotated[str | None, typer.Option(metavar="C", help="What it belongs to.")] = None,
    ttl: Annotated[str | None, typer.Option(help="How long it meets later waits, such as 1h.")] = None,
    deliver: Annotated[
        str | None, typer.Option(metavar="all|one", help="With one it ends at the first wait that it meets.")
    ] = None,
    for_run: Annotated[
        str | None, typer.Option("--test-run", metavar="RUN", help="The test run that it is for.")
    ] = None,
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Emit a stimulus; it is durable when this returns."""
    if not name.strip():
        raise usage("expected a name, such as order.placed, found none; a stimulus needs one")
    payload = _payload(data)
    fields = {"type": type_, "name": name, "shell": shell}
    optional = {"idempotencyKey": idempotency_key, "correlation": correlation, "ttl": ttl, "deliver": deliver}
    optional["testRun"] = for_run
    fields |= {field: value for field, value in optional.items() if value is not None}
    # The payload goes on as it was written: what Python would make of its numbers is not what its author wrote.
    stimulus = f'{json.dumps(fields)[:-1]}, "data": {payload}}}'
    with asking(api, shell) as client:
        emitted = client.emit_json(stimulus.encode("utf-8", "surrogateescape"))
    print_json(emitted) if as_json else print(f"stimulus {emitted.stimulus_id}")


def stimuli_list(
    outcome: Annotated[str | None, typer.Option(help="started, resumed, unmatched, kept or expired.")] = None,
    name: Annotated[str | None, typer.Option(help="Only those of this name.")] = None,
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List stimuli, the newest first."""
    with asking(api, shell, at_least) as client:
        page = client.stimuli(outcome=outcome, name=name, limit=limit, after=after or None)
    print_json(page) if as_json else show.stimuli(page)


def stimuli_show(
    stimulus_id: str,
    wait: WaitS = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Show a stimulus and what it did."""
    with asking(api, shell, at_least) as client:
        found = client.stimulus(stimulus_id, wait_s=wait)
    print_json(found) if as_json else show.stimulus(found)


def dead_letters_list(
    reason: Annotated[str | None, typer.Option(help="Only those with this reason.")] = None,
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List what could not be routed, the newest first."""
    with asking(api, shell, at_least) as client:
        page = client.dead_letters(reason=reason, limit=limit, after=after or None)
    print_json(page) if as_json else show.dead_letters(page)


def dead_letters_show(
    dead_letter_id: str, at_least: AtLeast = "", api: Api = "", shell: Shell = "default", as_json: AsJson = False
) -> None:
    """Show a dead letter with its reason and origin."""
    with asking(api, shell, at_least) as client:
        found = client.dead_letter(dead_letter_id)
    print_json(found) if as_json else show.dead_letter(found)


# ---- runs -----------------------------------------------------------------------------------------------------------


def runs_list(
    status: Annotated[
        str | None, typer.Option(help="running, waiting, cancelling, completed, faulted, cancelled.")
    ] = None,
    definition: Annotated[str | None, typer.Option(help="Only those of this definition.")] = None,
    publication: Annotated[str | None, typer.Option(help="Only those that this publication started.")] = None,
    unserved: Annotated[bool, typer.Option("--unserved", help="Only those that no process can serve.")] = False,
    limit: Limit = None,
    after: After = "",
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""
    with asking(api, shell, at_least) as client:
        page = client.runs(
            status=status,
            definition=definition,
            publication=publication,
            unserved=unserved,
            limit=limit,
            after=after or None,
        )
    print_json(page) if as_json else show.runs(page)


def runs_show(
    execution_id: str,
    wait: WaitS = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Show a run with its steps."""
    with asking(api, shell, at_least) as client:
        found = client.run(execution_id, wait_s=wait)
    print_json(found) if as_json else show.run(found)


def runs_watch(
    execution_id: str,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Give up after so long.")] = None,
    at_least: AtLeast = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Follow a run until it has ended; 0 when it is completed, 1 when not, 3 when the time is over."""
    with asking(api, shell, at_least) as client:
        found, seen = client.run(execution_id), ""
        for found in client.watch(execution_id, timeout_s=timeout):
            if not as_json and (line := show.progress(found)) != seen:
                print(line, flush=True)
                seen = line
    if as_json:
        print_json(found)
    if found.run.status not in ("completed", "faulted", "cancelled"):
        raise typer.Exit(Code.PENDING)
    if found.run.status != "completed":
        raise typer.Exit(Code.FAILED)


def start_test_run(
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="A draft: a document file, or module:attribute.")
    ] = None,
    data: Annotated[str, typer.Option("--data", metavar="JSON|@FILE|-", help="What the run gets as its input.")] = "{}",
    definition: Annotated[str | None, typer.Option(help="In place of a draft: the definition of --version.")] = None,
    version: Annotated[str | None, typer.Option(help="A version that was published, or was to be.")] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="ID", help="In place of a draft: what an earlier test run started from.")
    ] = None,
    command_id: publishing_commands.CommandId = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Run a workflow that no slot selects, to try it: its activities are called, and nothing else starts by it."""
    named = (target is not None, version is not None, reference is not None)
    if sum(named) != 1 or (version is None) != (definition is None):
        raise usage("expected exactly one of TARGET, --definition with --version, and --reference")
    document = None if target is None else publishing_commands.loaded(target)
    payload, identity = json.loads(_payload(data)), command_id or uuid.uuid4().hex
    with publishing_commands.repeatable(identity), asking(api, shell) as client:
        started = client.test_run(
            document,
            definition=definition,
            version=version,
            reference=reference,
            data=payload,
            requested_by=user(),
            command_id=identity,
        )
    print_json(started) if as_json else show.started_test_run(started)
    if started.status == "pending":
        raise typer.Exit(Code.PENDING)


def runs_cancel(
    execution_id: str,
    reason: Annotated[str, typer.Option(help="Why; it is kept in the history.")] = "",
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Ask a run to end."""
    with asking(api, shell) as client:
        cancelled = client.cancel(execution_id, reason=reason, requested_by=user())
    print_json(cancelled) if as_json else print(f"run {cancelled.execution_id} {cancelled.status}")
    if cancelled.status == "pending":
        raise typer.Exit(Code.PENDING)


# ---- history and views ----------------------------------------------------------------------------------------------


def projections_list(api: Api = "", shell: Shell = "default", as_json: AsJson = False) -> None:
    """List the views: state, lag, and their last rebuild."""
    with asking(api, shell) as client:
        views = client.projections()
    print_json(views) if as_json else show.projections(views)


def projections_rebuild(
    views: Annotated[list[str] | None, typer.Argument(help="The views; all of them if none is named.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Compare the rows before and after.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Don't wait until it is done.")] = False,
    api: Api = "",
    shell: Shell = "default",
    as_json: AsJson = False,
) -> None:
    """Make views anew from the journals, beside the ones that serve."""
    from interlock.cli.rebuild import follow

    with asking(api, shell) as client:
        names = views or [each.view for each in client.projections()]
        rebuilds = [client.rebuild(name, compare=compare) for name in names]
        if not no_wait:
            # With --json nothing but the one document goes to stdout.
            say = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
            rebuilds = [follow(client, rebuild, say) for rebuild in rebuilds]
    print_json(rebuilds) if as_json else show.rebuilds(rebuilds)
    if any(each.state == "failed" or each.replaced_digest != each.rebuilt_digest for each in rebuilds):
        raise typer.Exit(Code.FAILED)
    if any(each.state != "done" for each in rebuilds):
        raise typer.Exit(Code.PENDING)


GROUPS: Final[Mapping[str, tuple[str, Mapping[str, Callable[..., None]]]]] = {
    "runs": ("What runs do.", {"list": runs_list, "show": runs_show, "watch": runs_watch, "cancel": runs_cancel}),
    "slots": ("Who has authority.", {"list": publishing_commands.slots_list, "show": publishing_commands.slots_show}),
    "publications": (
        "Decisions on who may start work.",
        {"list": publishing_commands.publications_list, "show": publishing_commands.publications_show},
    ),
    "stimuli": ("What came in, and what it did.", {"list": stimuli_list, "show": stimuli_show}),
    "dead-letters": ("What could not be routed.", {"list": dead_letters_list, "show": dead_letters_show}),
    "repairs": ("What reconciliation repaired.", {"list": audit_commands.repairs_list}),
    "projections": (
        "How the views are.",
        {"list": projections_list, "rebuild": projections_rebuild, "verify": audit_commands.projections_verify},
    ),
}
"""Verbs of two words: what they are about, and what is done with it."""


# ---- within ---------------------------------------------------------------------------------------------------------


def _payload(data: str) -> str:
    """The JSON text that `--data` stands for."""
    try:
        if data == "-":
            text = sys.stdin.buffer.read().decode("utf-8")
        elif data.startswith("@"):
            text = Path(data[1:]).read_text("utf-8")
        else:
            text = data
        json.loads(text)
    except OSError as error:
        raise usage(f"expected a file for --data, found: {error}") from error
    except (ValueError, RecursionError) as error:
        raise usage(f"expected JSON in UTF-8 for --data, found: {error}") from error
    return text
