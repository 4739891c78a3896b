"""Looking back: what an aggregate was, and why a slot's authority is what it is (PRJ-10).

Both are read from the history alone, so they are of one view and one moment.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from starlette.requests import Request

from interlock.api import answers
from interlock.api.bodies import INTEGER_MAX, shell_of
from interlock.api.context import Context
from interlock.api.endpoint import Answer, path_parts
from interlock.api.failures import invalid, not_found
from interlock.api.history import VIEW, streams_of
from interlock.domain.sharding import slot_id
from interlock.projections.history.query import AsOf, History, HistoryEntry
from interlock.projections.history.states import UnknownKind
from interlock.sdk.types import AggregateState, Json, Owner, Why, WhyPrepared, WhyReplaced

AT_CHARACTERS_MAX: Final = 40
"""Of `at`: a revision, or an instant with fractions and an offset."""


class _At(NamedTuple):
    """Up to where an aggregate is folded; both None for now."""

    revision: int | None
    time_ms: int | None


class _Fact(NamedTuple):
    """A fact with its fields read."""

    entry: HistoryEntry
    type: str
    """Without its context."""
    data: dict[str, Any]


async def state(context: Context, request: Request) -> Answer[AggregateState]:
    """An aggregate of any kind as of a revision or an instant, or now: what the deciders held of it then.

    It is named as in the history.
    """
    parts = path_parts(request, "/v1/states/")
    streams, at = streams_of(parts, shell_of(request)), _at_of(request)

    async def look() -> AggregateState:
        found = await context.ask(lambda: _as_of(context.queries.history, streams, at))
        if found is None:
            raise not_found(
                f"Expected {'/'.join(parts)!r} to have an event {_told(at)}, found none; `interlock history` shows its "
                "events, and how aggregates are named."
            )
        if at.revision is not None and at.revision > found.last_revision:
            await context.require_caught_up(VIEW)
            raise not_found(
                f"Expected {'/'.join(parts)!r} to have revision {at.revision}, found that it has {found.last_revision} "
                "so far; without `at` it is told as it is now."
            )
        return AggregateState(
            stream=found.stream,
            revision=found.revision,
            type=found.type,
            time_ms=found.time_ms,
            last_revision=found.last_revision,
            state=cast("Json", found.state),
        )

    return Answer(200, await context.until((VIEW,), None, look, lambda _: True))


async def why(context: Context, request: Request) -> Answer[Why]:
    """Why a slot selects what it selects: who asked, what named the slot, which revision was observed, what was
    prepared when, what it replaced; and the facts themselves.
    """
    parts = path_parts(request, "/v1/why/")
    if len(parts) != 2:
        raise not_found("Expected the path of a slot as /v1/why/<definition>/<name>, found another.")
    definition, name = parts
    slot = slot_id(shell_of(request), definition, name)

    async def look() -> Why:
        found = await context.ask(lambda: _why(context.queries.history, slot))
        if found is None:
            raise not_found(
                f"Expected a slot {name!r} of definition {definition!r}, found none; "
                "`interlock slots list` shows those that there are."
            )
        return found

    return Answer(200, await context.until((VIEW,), None, look, lambda _: True))


# ---- states ---------------------------------------------------------------------------------------------------------


def _as_of(history: History, streams: tuple[str, ...], at: _At) -> AsOf | None:
    for stream in streams:
        try:
            found = history.as_of(stream, revision=at.revision, time_ms=at.time_ms)
        except UnknownKind as error:
            raise invalid(f"{error}.") from error
        if found is not None:
            return found
    return None


def _at_of(request: Request) -> _At:
    given = request.query_params.get("at")
    if given is None:
        return _At(None, None)
    if given.isascii() and given.isdigit() and int(given[:AT_CHARACTERS_MAX]) <= INTEGER_MAX:
        return _At(int(given), None)
    try:
        instant = datetime.fromisoformat(given[:AT_CHARACTERS_MAX])
        utc = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
        return _At(None, round(utc.timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise invalid(
            f"Expected `at` as a revision or an instant such as 2026-03-01T12:00:00Z, found {given[:80]!r}."
        ) from error


def _told(at: _At) -> str:
    if at.revision is not None:
        return f"up to revision {at.revision}"
    return "" if at.time_ms is None else f"up to {datetime.fromtimestamp(at.time_ms / 1000, UTC).isoformat()}"


# ---- why ------------------------------------------------------------------------------------------------------------


def _why(history: History, slot: str) -> Why | None:
    """The chain behind what a slot selects; None where it was never activated."""
    (newest,) = history.newest(f"slot:{slot}", limit=1)
    if not newest:
        return None
    (switch,) = _facts(newest)
    emptied = switch.type == "SlotEmptied"
    cause = f"unpublish:{switch.data['unpublish_id']}" if emptied else f"publication:{switch.data['publication_id']}"
    replaced = switch.data["publication_id"] if emptied else switch.data["replaced_publication_id"]
    caused, before = history.newest(cause, f"publication:{replaced}") if replaced else (*history.newest(cause), ())
    return _told_why(switch, _facts(caused), _facts(before), emptied=emptied)


def _told_why(switch: _Fact, caused: list[_Fact], before: list[_Fact], *, emptied: bool) -> Why:
    asked, staged = (
        _one(caused, "Unpublished" if emptied else "PublicationRequested"),
        _one(caused, "PublicationStaged"),
    )
    activated = _one(caused, "Unpublished" if emptied else "PublicationActivated")
    served = _one(caused, "UnpublishServed" if emptied else "PublicationServed")
    ends = ("PublicationActivated", "PublicationRetired")
    chain = sorted([switch, *caused, *(one for one in before if one.type in ends)], key=lambda one: one.entry.position)
    return Why(
        shell=switch.data["shell"],
        definition_id=switch.data["definition_id"],
        slot_name=switch.data["name"],
        slot_id=switch.data["slot_id"],
        revision=switch.data["revision"],
        publication_id="" if emptied else switch.data["publication_id"],
        requested_by=asked.get("requested_by", ""),
        requested_at_ms=asked.get("requested_at_ms", 0),
        command_id=asked.get("command_id", ""),
        policy_source=asked.get("policy_source", ""),
        restores=asked.get("restores", ""),
        owner=_owner(switch.data.get("owner")),
        took_over=asked.get("took_over", False),
        observed_revision=asked.get("expected_revision", 0),
        artifact_id=staged.get("artifact_id", ""),
        version=staged.get("definition_version", ""),
        prepared=tuple(
            WhyPrepared(view=one.data["kind"], at_ms=one.data["at_ms"])
            for one in caused
            if one.type == "ProjectionPrepared"
        ),
        selected_at_ms=switch.data["at_ms"],
        position=activated.get("position", 0),
        served_at_ms=served.get("at_ms"),
        replaced=_replaced(before),
        chain=tuple(answers.history_entry(one.entry) for one in chain),
    )


def _owner(found: Mapping[str, str] | None) -> Owner | None:
    return None if found is None else Owner(kind=found["kind"], id=found["id"])


def _replaced(before: list[_Fact]) -> WhyReplaced | None:
    if not before:
        return None
    requested, staged = _one(before, "PublicationRequested"), _one(before, "PublicationStaged")
    activated, retired = _one(before, "PublicationActivated"), _one(before, "PublicationRetired")
    return WhyReplaced(
        publication_id=requested.get("publication_id", ""),
        artifact_id=staged.get("artifact_id", ""),
        version=staged.get("definition_version", ""),
        revision=activated.get("revision", 0),
        requested_by=requested.get("requested_by", ""),
        activated_at_ms=activated.get("at_ms"),
        retired_at_ms=retired.get("at_ms"),
    )


def _facts(entries: Iterable[HistoryEntry]) -> list[_Fact]:
    return [
        _Fact(entry, entry.type.partition(".")[2], cast("dict[str, Any]", json.loads(entry.data))) for entry in entries
    ]


def _one(facts: list[_Fact], type_: str) -> dict[str, Any]:
    """The fields of the newest fact of a type; none where there is none."""
    found: dict[str, Any] = {}
    for one in facts:
        if one.type == type_:
            found = one.data
    return found
