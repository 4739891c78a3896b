"""How the past, and what was set right, look to people."""

from collections.abc import Sequence

from interlock.cli.output import instant, print_fields, print_json, print_table, short
from interlock.sdk.types import AggregateState, Drifted, HistoryEntry, Page, Reconciled, Repair, Verification, Why


def history(page: Page[HistoryEntry]) -> None:
    """The events of an aggregate."""
    rows = [(each.revision, instant(each.time_ms), each.type, each.actor, short(each.data, 140)) for each in page.items]
    print_table(("REVISION", "TIME", "EVENT", "BY", "DATA"), rows, "No events.")
    _more(page.next)


def state(found: AggregateState) -> None:
    """What an aggregate was, as JSON."""
    print_fields(
        [
            ("aggregate", found.stream),
            ("as of", f"revision {found.revision} of {found.last_revision}, {found.type}, {instant(found.time_ms)}"),
        ]
    )
    print_json(found.state)


def why(found: Why) -> None:
    """The reasons first, then the facts."""
    selects = f"publication {found.publication_id}" if found.publication_id else "nothing: it was emptied"
    before = found.replaced
    print_fields(
        [
            ("slot", f"{found.definition_id}/{found.slot_name} at revision {found.revision} selects {selects}"),
            (
                "asked",
                f"{instant(found.requested_at_ms)} by {found.requested_by or 'nobody named'} ({found.command_id})",
            ),
            ("policy", _POLICIES.get(found.policy_source, found.policy_source)),
            ("restores", found.restores),
            (
                "owner",
                "" if found.owner is None else f"{found.owner.kind}:{found.owner.id}{_took_over(found.took_over)}",
            ),
            ("observed", f"revision {found.observed_revision} of the slot"),
            ("artifact", f"{found.artifact_id} (version {found.version})" if found.artifact_id else ""),
            *(("prepared", f"{each.view} {instant(each.at_ms)}") for each in found.prepared),
            ("selected", f"{instant(found.selected_at_ms)} at append {found.position} of publishing"),
            ("routing", f"decides by it since {instant(found.served_at_ms)}" if found.served_at_ms else "not all yet"),
            (
                "replaced",
                "nothing"
                if before is None
                else f"publication {before.publication_id} (version {before.version}, by "
                f"{before.requested_by or 'nobody named'}), selected {instant(before.activated_at_ms)}",
            ),
        ]
    )
    print()
    rows = [
        (each.position, instant(each.time_ms), each.type.partition(".")[2], each.stream, each.revision, each.actor)
        for each in found.chain
    ]
    print_table(("AT", "TIME", "EVENT", "OF", "REVISION", "BY"), rows, "No facts.")


def _took_over(took_over: bool) -> str:
    return " (--take-over was given)" if took_over else ""


def reconciled(found: Reconciled) -> None:
    """What was compared, and what differed."""
    rows = [(each.holder, each.state, each.position, each.publications, each.rows, each.why) for each in found.copies]
    print_table(("COPY", "STATE", "AT", "PUBLICATIONS", "ROWS", "WHY"), rows, "No copies.")
    print()
    drifted = [
        (each.holder, each.publication_id, each.standing, _differs(each), each.outcome, each.why)
        for each in found.drifted
    ]
    nothing = "Every row that could be compared is as the slots call for."
    print_table(("COPY", "PUBLICATION", "SHOULD BE", "DIFFERS", "OUTCOME", "WHY"), drifted, nothing)
    if found.reconciliation_id:
        print(f"reconciliation {found.reconciliation_id}")


def repairs(page: Page[Repair]) -> None:
    """Repairs as a table."""
    rows = [
        (
            instant(each.at_ms),
            each.holder,
            each.publication_id,
            each.standing,
            _differs(each),
            each.requested_by or "periodic",
            each.reconciliation_id,
        )
        for each in page.items
    ]
    columns = ("TIME", "COPY", "PUBLICATION", "SHOULD BE", "DIFFERED", "BY", "RECONCILIATION")
    print_table(columns, rows, "Nothing was ever repaired.")
    _more(page.next)


def verifications(found: Sequence[Verification]) -> None:
    """How verifications ended, and some of the rows that differ."""
    rows = [(each.view, each.state, each.appends_done, each.rows, _verdict(each), each.message) for each in found]
    print_table(("VIEW", "STATE", "APPENDS", "ROWS", "COMPARED", "TROUBLE"), rows, "No views.")
    samples = [(each.view, one.table, one.kind, one.key) for each in found for one in each.samples]
    if samples:
        print()
        print_table(("VIEW", "TABLE", "ROW IS", "KEY"), samples, "")
        print("`interlock projections rebuild VIEW` makes a view anew; `interlock reconcile` mends the trigger index.")


def _verdict(verification: Verification) -> str:
    if verification.state != "done":
        return ""
    counts = (("missing", verification.missing), ("foreign", verification.foreign), ("changed", verification.changed))
    return ", ".join(f"{count} {what}" for what, count in counts if count) or "the same"


_POLICIES = {
    "request": "request: the request named the slot",
    "workflow": "workflow: the definition's policy named the slot",
    "host": "host: the host's policy named the slot",
}


def _differs(found: Drifted | Repair) -> str:
    counts = {
        "missing": found.missing,
        "foreign": found.foreign,
        "wrongly visible or not": found.flipped,
        "changed": found.changed,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _more(following: str | None) -> None:
    if following is not None:
        print(f"There are more: --after {following}")
