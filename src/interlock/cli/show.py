"""How answers look to people."""

from collections.abc import Sequence

from interlock.cli.output import age, clean, instant, print_fields, print_table, short
from interlock.sdk.types import (
    Conflict,
    DeadLetter,
    DocumentFault,
    Owner,
    Page,
    Preflight,
    ProjectionIntent,
    Publication,
    PublicationDetail,
    Published,
    Rebuild,
    Run,
    RunDetail,
    Slot,
    SlotDetail,
    SourceReference,
    StartedTestRun,
    Stimulus,
    StimulusDetail,
    Trigger,
    Unpublish,
    Unpublished,
    ViewStatus,
)


def preflight(outcome: Preflight) -> None:
    """What a publish, a restore or an unpublish would do."""
    sentence = {
        "fill": "would fill the slot",
        "empty": f"would empty the slot, and retire publication {outcome.replaces}",
        "nothing": "would do nothing: the slot is as it is asked to be",
        "replace": f"would replace publication {outcome.replaces}",
        "lose": f"would lose: the slot is at revision {outcome.found_revision}, not {outcome.expected_revision}",
        "conflict": "would be refused: somebody else has an exclusive claim",
    }[outcome.action]
    print(f"{outcome.definition_id}/{outcome.slot_name}: {sentence}")
    claims = [("adds", outcome.added), ("keeps", outcome.retained), ("gives up", outcome.removed)]
    print_fields(
        [
            ("restores", outcome.restores),
            ("slot named by", _policy(outcome.policy_source)),
            ("revision", outcome.found_revision),
            ("version", outcome.version),
            ("artifact", outcome.artifact_id),
            *((name, ", ".join(claim.claim for claim in group)) for name, group in claims),
            *map(_conflict, outcome.conflicts),
            ("owner", _owner(outcome.found_owner)),
            ("would be owned by", "" if outcome.owner == outcome.found_owner else _owner(outcome.owner)),
            ("stays beside", _beside(outcome.beside)),
            *(("warning", each) for each in outcome.warnings),
        ]
    )
    if outcome.action == "conflict" and outcome.conflicts:
        first = outcome.conflicts[0]
        unpublish = f"interlock unpublish {first.definition_id} --slot {first.slot_name}"
        instead = f"publish with --slot {first.slot_name}, " if first.definition_id == outcome.definition_id else ""
        print(clean(f"To have the claim: unpublish that slot (`{unpublish}`), {instead}or change the trigger."))


def published(found: Published) -> None:
    """How a publish stands."""
    where = f"{found.definition_id}/{found.slot}" if found.definition_id else "the publication"
    if found.status == "active":
        print(f"{where} is active at revision {found.revision}")
    elif found.status == "nothing":
        print(found.message)
    else:
        print(f"{where} is pending: {'; '.join(found.missing)}")
    print_fields(
        [
            ("publication", found.publication_id),
            ("restores", found.restores),
            ("version", found.version),
            ("command", found.command_id),
            ("replaced by", found.replaced_by),
            ("unpublished by", found.unpublished_by),
            ("stays beside", _beside(found.beside)),
            *(("warning", each) for each in found.warnings),
        ]
    )
    if found.status == "pending":
        print(f"Give the same command with --command-id {found.command_id} to hear its answer.")


def unpublished(found: Unpublished) -> None:
    """How an unpublish stands."""
    where = f"{found.definition_id}/{found.slot}" if found.slot else f"a slot of {found.definition_id}"
    if found.status == "unpublished":
        print(f"{where} is empty at revision {found.revision}")
    elif found.status == "nothing":
        print(found.message)
    else:
        print(f"{where} is pending: {'; '.join(found.missing)}")
    print_fields([("retired", found.publication_id), ("command", found.command_id)])
    if found.status == "pending":
        print(f"Give the same command with --command-id {found.command_id} to hear its answer.")


def slots(page: Page[Slot]) -> None:
    """Slots as a table."""
    rows = [
        (
            each.definition_id,
            each.name,
            each.revision,
            each.publication_id or "(empty)",
            instant(each.activated_at_ms if each.emptied_at_ms is None else each.emptied_at_ms),
            _owner(each.owner),
        )
        for each in page.items
    ]
    columns = ("DEFINITION", "SLOT", "REVISION", "PUBLICATION", "SINCE", "OWNER")
    print_table(columns, rows, "No slots.")
    _more(page.next)


def slot(found: SlotDetail) -> None:
    """A slot and its authority."""
    print_fields(
        [
            ("slot", f"{found.slot.definition_id}/{found.slot.name}"),
            ("slot id", found.slot.slot_id),
            ("owner", _owner(found.slot.owner)),
        ]
    )
    if found.authority is None:
        print_fields([("revision", found.slot.revision), ("empty since", instant(found.slot.emptied_at_ms))])
    else:
        publication(found.authority)


def publications(page: Page[Publication]) -> None:
    """Publications as a table."""
    rows = [
        (
            each.publication_id,
            f"{each.definition_id}/{each.slot_name}",
            each.status,
            each.revision or "",
            instant(each.requested_at_ms),
            each.requested_by,
        )
        for each in page.items
    ]
    print_table(("PUBLICATION", "SLOT", "STATUS", "REVISION", "REQUESTED", "BY"), rows, "No publications.")
    _more(page.next)


def publication(found: PublicationDetail) -> None:
    """A publication."""
    row = found.publication
    pending = f" (pending: {'; '.join(found.missing)})" if found.pending else ""
    print_fields(
        [
            ("publication", row.publication_id),
            ("for", f"{row.definition_id}/{row.slot_name}"),
            ("status", row.status + pending),
            ("slot named by", _policy(row.policy_source)),
            ("restores", row.restores),
            ("owner", _owner(row.owner) + (" (took over)" if row.took_over else "")),
            ("revision", row.revision or ""),
            ("version", row.definition_version),
            ("artifact", row.artifact_id),
            ("requested", f"{instant(row.requested_at_ms)} by {row.requested_by or 'nobody named'}"),
            ("activated", instant(row.activated_at_ms)),
            ("served", instant(row.served_at_ms)),
            ("ended", instant(row.ended_at_ms)),
            ("replaced by", row.replaced_by),
            ("unpublished", "" if found.unpublish is None else _by(found.unpublish)),
            *((f"{each.operation} {each.kind}", _intent(each)) for each in found.intents),
            ("source reference", _reference(found.source_reference)),
            *((f"starts on {each.node_id}", _trigger(each)) for each in found.triggers),
            *(("warning", each) for each in found.warnings),
            ("reason", row.reason),
            *((f"fault {each.code}", f"{each.where}: {_expected(each)}") for each in row.faults),
            *map(_conflict, row.conflicts),
        ]
    )


def _trigger(found: Trigger) -> str:
    """What starts runs, and how it is reached."""
    if route := found.route:
        return f"{route.method} {route.template}"
    if schedule := found.schedule:
        if schedule.kind == "interval":
            return f"every {schedule.every_ms / 1000:g} s"
        rules = f" (a time that is jumped over: {schedule.gap}; one that comes twice: {schedule.overlap})"
        return f"{schedule.expression} in {schedule.zone}{rules}"
    return f"{found.type} {found.name}"


def stimuli(page: Page[Stimulus]) -> None:
    """Stimuli as a table."""
    rows = [
        (each.stimulus_id, each.name, each.correlation, each.outcome, instant(each.arrived_at_ms), each.origin.channel)
        for each in page.items
    ]
    print_table(("STIMULUS", "NAME", "CORRELATION", "OUTCOME", "ARRIVED", "BY"), rows, "No stimuli.")
    _more(page.next)


def stimulus(found: StimulusDetail) -> None:
    """A stimulus and what it did."""
    row = found.stimulus
    print_fields(
        [
            ("stimulus", row.stimulus_id),
            ("name", f"{row.type} {row.name}"),
            ("correlation", row.correlation),
            ("idempotency key", row.idempotency_key),
            ("arrived", f"{instant(row.arrived_at_ms)} by {row.origin.channel}"),
            ("kept until", instant(row.kept_until_ms)),
            ("outcome", row.outcome),
            ("data", short(row.data)),
            *(("started", each.execution_id) for each in found.starts),
            *(("resumed", each.execution_id + (" (declined)" if each.declined else "")) for each in found.resumes),
        ]
    )


def dead_letters(page: Page[DeadLetter]) -> None:
    """Dead letters as a table."""
    rows = [
        (each.dead_letter_id, each.reason, instant(each.rejected_at_ms), _origin(each), each.detail)
        for each in page.items
    ]
    print_table(("DEAD LETTER", "REASON", "REJECTED", "ORIGIN", "DETAIL"), rows, "No dead letters.")
    _more(page.next)


def dead_letter(found: DeadLetter) -> None:
    """A dead letter."""
    print_fields(
        [
            ("dead letter", found.dead_letter_id),
            ("reason", found.reason),
            ("detail", found.detail),
            ("rejected", instant(found.rejected_at_ms)),
            ("origin", _origin(found)),
            ("size", f"{found.size} bytes"),
            ("begins", short(found.excerpt)),
        ]
    )


def runs(page: Page[Run]) -> None:
    """Runs as a table."""
    rows = [
        (
            each.execution_id,
            f"{each.definition_id} (test)" if each.test_reference_id else each.definition_id,
            each.status,
            each.node_id,
            instant(each.started_at_ms),
            age(each.ended_at_ms - each.started_at_ms) if each.ended_at_ms is not None else "",
            _trouble(each),
        )
        for each in page.items
    ]
    print_table(("RUN", "DEFINITION", "STATUS", "AT", "STARTED", "TOOK", "TROUBLE"), rows, "No runs.")
    _more(page.next)


def started_test_run(found: StartedTestRun) -> None:
    """How a request for a test run stands."""
    print(f"test run {found.execution_id} {'is started' if found.status == 'started' else 'is pending'}")
    print_fields(
        [
            ("reference", found.reference_id),
            ("of", " ".join(part for part in (found.definition_id, found.names, found.version) if part)),
            ("artifact", found.artifact_id),
            ("reference lives until", instant(found.expires_at_ms) if found.expires_at_ms else ""),
            ("command", found.command_id),
        ]
    )


def run(found: RunDetail) -> None:
    """A run with its steps."""
    row, wait = found.run, found.wait
    until = "" if wait is None or wait.until_ms is None else f" until {instant(wait.until_ms)}"
    print_fields(
        [
            ("run", row.execution_id),
            ("status", row.status),
            ("definition", row.definition_id),
            ("publication", row.publication_id),
            ("artifact", row.artifact_id),
            ("test run of", f"reference {row.test_reference_id}" if row.test_reference_id else ""),
            ("started", f"{instant(row.started_at_ms)} {_started_by(row)}".rstrip()),
            ("ended", instant(row.ended_at_ms)),
            ("trouble", _trouble(row)),
            ("waits", "" if wait is None else f"at {wait.node_id} ({wait.kind}) {wait.correlation}{until}"),
            *(("cancel", f"{instant(each.at_ms)} {each.requested_by} {each.reason}") for each in found.cancels),
            ("output", "" if row.status != "completed" else short(row.output)),
        ]
    )
    rows = [
        (
            each.node_id,
            each.attempt,
            each.kind,
            each.status,
            instant(each.at_ms),
            short(each.output) if each.fault is None else f"{each.fault.type}: {each.fault.message}",
        )
        for each in found.steps
    ]
    print()
    print_table(("STEP", "ATTEMPT", "KIND", "STATUS", "AT", "OUTPUT"), rows, "No step is over yet.")


def progress(found: RunDetail) -> str:
    """Where a run is, in one line."""
    row = found.run
    steps = f"{len(found.steps)} step(s) over"
    if row.status == "waiting" and found.wait is not None:
        return f"waiting at {found.wait.node_id}, {steps}"
    trouble = _trouble(row)
    return clean(f"{row.status}, {steps}{f': {trouble}' if trouble else ''}")


def projections(found: Sequence[ViewStatus]) -> None:
    """Views as a table."""
    rows = [
        (
            each.view,
            each.state,
            _lag(each),
            "" if each.rebuild is None else f"{each.rebuild.state} {instant(each.rebuild.ended_at_ms)}",
            "" if each.drift is None else f"{each.drift.rows} rows",
            each.error or each.waiting_for,
        )
        for each in found
    ]
    print_table(("VIEW", "STATE", "LAG", "LAST REBUILD", "REPAIRED", "TROUBLE"), rows, "No views.")


def _lag(view: ViewStatus) -> str:
    """In records, and how old the oldest is where there is one."""
    if view.lag is None:
        return "unknown"
    return f"{view.lag}, {view.lag_ms / 1000:.0f} s" if view.lag_ms else str(view.lag)


def rebuilds(found: Sequence[Rebuild]) -> None:
    """How rebuilds ended."""
    compared = any(each.rebuilt_digest for each in found)
    rows = [
        (each.view, each.state, each.appends_done, *((_compared(each),) if compared else ()), each.message)
        for each in found
    ]
    columns = ("VIEW", "STATE", "APPENDS", *(("ROWS",) if compared else ()), "TROUBLE")
    print_table(columns, rows, "No views.")


def _compared(rebuild: Rebuild) -> str:
    if not rebuild.rebuilt_digest:
        return ""
    return "the same" if rebuild.replaced_digest == rebuild.rebuilt_digest else "DIFFERENT"


def _trouble(run: Run) -> str:
    if run.unserved is not None:
        return f"no process presents activity {run.unserved.activity!r}, for {age(run.unserved.age_ms)}"
    return "" if run.fault is None else f"{run.fault.type}: {run.fault.message}"


def _origin(letter: DeadLetter) -> str:
    origin = letter.origin
    if origin.channel != "kafka" or not origin.topic:
        return origin.channel
    return f"{origin.topic.partition('@')[0]}/{origin.partition} at {origin.offset}"


def _policy(source: str) -> str:
    return {"request": "the request", "workflow": "the document", "host": "the host"}.get(source, source)


def _beside(slots: Sequence[str]) -> str:
    """The other slots of a definition; what it means that they stay is said too, as none of them was asked for."""
    return f"{', '.join(slots)} (goes on starting work)" if slots else ""


def _owner(owner: Owner | None) -> str:
    return "" if owner is None else f"{owner.kind}:{owner.id}"


def _intent(intent: ProjectionIntent) -> str:
    asked = f", asked {intent.attempts} times" if intent.attempts > 1 else ""
    return f"{intent.status}{asked}{f': {intent.diagnostic}' if intent.diagnostic else ''}"


def _reference(reference: SourceReference | None) -> str:
    if reference is None:
        return ""
    ended = "live" if reference.live else f"retired {instant(reference.retired_at_ms)}"
    return f"{reference.reference_id} ({reference.kind}, {ended})"


def _by(unpublish: Unpublish) -> str:
    return f"{instant(unpublish.requested_at_ms)} by {unpublish.requested_by or 'nobody named'}"


def _expected(fault: DocumentFault) -> str:
    return f"expected {fault.expected}, found {fault.found}"


def _conflict(conflict: Conflict) -> tuple[str, str]:
    claimant = f"{conflict.definition_id}/{conflict.slot_name}, publication {conflict.publication_id}"
    return f"conflict on {conflict.claim}", f"{claimant}, node {conflict.claimant_node_id}"


def _more(following: str | None) -> None:
    if following is not None:
        print(f"There are more: --after {following}")


def _started_by(row: Run) -> str:
    """What started a run; nothing but the request did that of a test run."""
    return "" if row.test_reference_id else f"by {row.stimulus_name} ({row.stimulus_id})"
