"""Lists of large things: a page is bounded by its bytes too, and goes on."""

import pytest

from interlock.api import history
from interlock.projections import paging, reader
from tests.api.service import WAIT_S, Service


@pytest.mark.parametrize("path", ["/v1/stimuli", "/v1/runs", "/v1/history/execution:{}"])
async def test_a_page_ends_where_it_is_too_much_and_the_next_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Proves: LOG-05. Whoever lists large payloads never makes a process hold all of them."""
    await service.publish()
    runs = [await service.started(data={"id": f"o-{number}", "note": "x" * 3_000}) for number in range(4)]
    for run_id in runs:
        await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    path = path.format(runs[0])
    whole = (await service.get(path, limit=100))["items"]
    for module in (paging, reader, history):
        monkeypatch.setattr(module, "PAGE_BYTES_MAX", 900)
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
