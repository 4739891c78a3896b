"""Lists of large things: a page is bounded by its bytes too, and goes on."""

import asyncio

import pytest

from interlock.api import history
from interlock.projections import paging, reader
from tests.api.service import WAIT_S, Service, document
from tests.support import tampering


@pytest.mark.parametrize("path", ["/v1/stimuli", "/v1/runs", "/v1/history/execution:{}"])
async def test_a_page_ends_where_it_is_too_much_and_the_next_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Proves: LOG-05. Whoever lists large payloads never makes a process hold all of them."""
    await service.publish()
    runs = [await service.started(data={"id": f"o-{number}", "note": "x" * 3_000}) for number in range(4)]
    for run_id in runs:
        await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    await read_in_pages(service, monkeypatch, path.format(runs[0]))


@pytest.mark.parametrize("path", ["/v1/publications", "/v1/dead-letters", "/v1/repairs"])
async def test_a_page_of_what_is_recorded_beside_runs_is_bounded_too(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Proves: LOG-05."""
    published = [await service.publish(document(f"w{number}", event=f"e{number}")) for number in range(3)]
    for number in range(4):
        await service.emit(name="unread", idempotencyKey="k", data={"note": str(number) * 900})
    index = service.engine.settings.data / "views" / "trigger-index.sqlite"
    for each in published:
        tampering.change(index, f"DELETE FROM bindings WHERE publication_id = '{each['publicationId']}'")
    async with asyncio.timeout(WAIT_S):
        while len((await service.get("/v1/repairs"))["items"]) < 3:
            await service.post("/v1/reconcile", {"requestedBy": "ada"})
    counts = await service.get("/v1/counts", wait=0)
    async with asyncio.timeout(WAIT_S):
        while len((await service.get("/v1/dead-letters"))["items"]) < 3:
            counts = await service.get("/v1/counts", wait=1, seen=counts["mark"])
    await read_in_pages(service, monkeypatch, path)


async def read_in_pages(service: Service, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Expects a list to come whole, in more than one page."""
    whole = (await service.get(path, limit=100))["items"]
    for module in (paging, reader, history):
        monkeypatch.setattr(module, "PAGE_BYTES_MAX", 400)
    found: list[object] = []
    pages, after = 0, dict[str, str]()
    while True:
        page = await service.get(path, limit=100, **after)
        found += page["items"]
        pages += 1
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert found == whole
    assert pages > 1
