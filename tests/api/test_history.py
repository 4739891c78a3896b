"""Everything that has a history is found by its id alone, and as of any of its events, whatever kind it is of."""

import asyncio
import re
import sqlite3
from datetime import UTC, datetime

import pytest

from interlock.api.history import streams_of
from interlock.schemas.inventory import record_modules
from tests.api.service import WAIT_S, Service, document
from tests.support import tampering


def stream_patterns() -> dict[str, str]:
    """Kind of stream → what its ids are made of, such as `<shell>`, as the modules of facts say themselves."""
    said = (re.search(r"\(stream\s+`([a-z-]+):([^`]+)`", module.__doc__ or "") for module in record_modules())
    return {found[1]: found[2] for found in said if found}


@pytest.mark.parametrize("kind", sorted(stream_patterns()))
def test_an_id_alone_may_be_of_every_kind_of_stream_there_is(kind: str) -> None:
    """Proves: PRJ-10 (any aggregate)."""
    identity = re.sub("<[a-z_]+>", "0123456789abcdef" * 2, stream_patterns()[kind])
    assert f"{kind}:{identity}" in streams_of((identity,), "default")
    assert streams_of((f"{kind}:{identity}",), "default") == (f"{kind}:{identity}",)


async def test_each_kind_of_aggregate_is_found_by_its_id_alone_and_as_of_a_revision_and_an_instant(
    service: Service,
) -> None:
    """Proves: PRJ-10 (any aggregate, as of any revision or instant)."""
    await make_one_of_each(service)
    streams = await recorded(service)
    assert set(streams) == set(stream_patterns()), "expected something of each kind of stream, found other kinds"
    for stream in streams.values():
        bare = stream.partition(":")[2]
        events = (await service.get(f"/v1/history/{bare}", wait=WAIT_S))["items"]
        assert {each["stream"] for each in events} == {stream}
        assert [each["revision"] for each in events] == list(range(1, len(events) + 1))
        first = events[0]
        instant = datetime.fromtimestamp(first["timeMs"] / 1000, UTC).isoformat()
        for at in ("1", instant):
            then = await service.get(f"/v1/states/{bare}", at=at)
            assert (then["stream"], then["lastRevision"] >= then["revision"] >= 1) == (stream, True), at
            assert then["state"]
        by_revision = await service.get(f"/v1/states/{bare}", at="1")
        assert (by_revision["revision"], by_revision["type"]) == (1, first["type"])
        before = datetime.fromtimestamp((first["timeMs"] - 1) / 1000, UTC).isoformat()
        for at in ("0", before):
            assert (await service.http.get(f"/v1/states/{bare}", params={"at": at})).status_code == 404, (stream, at)


async def test_what_is_of_no_aggregate_is_told_with_the_kinds_that_there_are(service: Service) -> None:
    answer = await service.http.get("/v1/history/nothing-of-that-name")
    assert answer.status_code == 404
    assert all(kind in answer.json()["message"] for kind in stream_patterns())


# ---- making them ----------------------------------------------------------------------------------------------------


async def make_one_of_each(service: Service) -> None:
    """A run that waits, an unpublish, a dead letter, a repair; and with them all the others."""
    published = await service.publish(document(wait="payment.received"))
    await service.started(idempotencyKey="k-1")
    await service.emit(idempotencyKey="k-1", data={"id": "another"})
    await service.publish(document("invoices", event="invoice.sent"))
    await service.post("/v1/unpublish", {"definition": "invoices", "wait": WAIT_S})
    counts = await service.get("/v1/counts", wait=0)
    async with asyncio.timeout(WAIT_S):
        while not (await service.get("/v1/dead-letters"))["items"]:
            counts = await service.get("/v1/counts", wait=WAIT_S, seen=counts["mark"])
        path = service.engine.settings.data / "views" / "trigger-index.sqlite"
        tampering.change(path, f"DELETE FROM bindings WHERE publication_id = '{published['publicationId']}'")
        while not (await service.get("/v1/repairs"))["items"]:
            await service.post("/v1/reconcile", {"requestedBy": "ada"})


async def recorded(service: Service) -> dict[str, str]:
    """Kind of stream → one that the history has, once it has all kinds."""
    path = service.engine.settings.data / "views" / "history.sqlite"
    found: dict[str, str] = {}
    async with asyncio.timeout(WAIT_S):
        while len(found) < len(stream_patterns()):
            await asyncio.sleep(0.01)
            with sqlite3.connect(path) as connection:
                rows = connection.execute("SELECT DISTINCT stream FROM events ORDER BY stream").fetchall()
            found = {stream.partition(":")[0]: stream for (stream,) in rows}
    return found
