"""Triggers of every kind and a third party's package, as a user of the command line meets them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Shell
from tests.acceptance.program import up
from tests.support.acme import installed
from tests.support.installation import BOTH_LOGS, Installation, install

pytestmark = pytest.mark.acceptance

STEPS = [{"id": "pause", "sleep": "1h"}]
KINDS: list[dict[str, Any]] = [
    {"type": "event", "name": "order.placed"},
    {"type": "http", "method": ["GET", "POST"], "path": "/orders/:id", "id": "endpoint"},
    {"type": "timer", "every": "15m"},
    {"type": "cron", "expression": "0 6 * * mon-fri", "zone": "Europe/Paris"},
]


def definition(folder: Path, *triggers: dict[str, Any], name: str = "orders") -> str:
    """The path of a document."""
    path = folder / f"{name}-{len(list(folder.glob('*.json')))}.json"
    path.write_text(json.dumps({"name": name, "triggers": triggers, "steps": STEPS}), "utf-8")
    return str(path)


def test_triggers_are_claimed_shown_and_refused(tmp_path: Path, interlock: Shell) -> None:
    """Proves: SCH-01, RTE-02, TRG-04, TRG-07 (cases B4, B13, C4, C5)."""
    with up(tmp_path / "data") as program:
        api = program.api
        orders = definition(tmp_path, *KINDS)
        looked = interlock("preflight", orders, api=api)
        assert looked.code == 0
        assert "does not serve requests yet: http:GET /orders/:, http:POST /orders/:" in looked.out
        assert "does not fire them yet: timer:900000ms, cron:0 6 * * mon-fri Europe/Paris" in looked.out
        published = interlock("publish", orders, "--json", api=api)
        assert published.code == 0, published.err
        assert len(published.json()["warnings"]) == 2
        shown = interlock("slots", "show", "orders", api=api).out
        for part in ("GET /orders/:id", "every 900 s", "0 6 * * mon-fri in Europe/Paris", "Event order.placed"):
            assert part in shown
        clash = definition(tmp_path, {"type": "http", "method": "POST", "path": "/orders/:number"}, name="others")
        refused = interlock("publish", clash, "--json", api=api)
        assert refused.code == 1
        assert [each["definitionId"] for each in refused.json()["conflicts"]] == ["orders"]
        for wrong, says in (
            ({"type": "cron", "expression": "0 0 30 2 *", "id": "never"}, "For trigger 'never'"),
            ({"type": "cron", "expression": "0 6 * * *", "zone": "Mars"}, "time zone of the IANA database"),
            ({"type": "http", "method": "GET", "path": "/a//b"}, "segments that are not empty"),
        ):
            failed = interlock("publish", definition(tmp_path, wrong, name="third"), api=api)
            assert failed.code == 1
            assert says in failed.err
        twice = [{"type": "http", "method": "GET", "path": f"/x/:{name}", "id": name} for name in ("one", "two")]
        both = interlock("preflight", definition(tmp_path, *twice, name="third"), api=api)
        assert both.code == 1
        assert "'one'" in both.err
        assert "'two'" in both.err


@pytest.fixture(params=BOTH_LOGS)
def extended(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """A program beside which a third party's package is installed."""
    made = install(request.param, request, tmp_path)
    made.environment["PYTHONPATH"] = str(installed(tmp_path / "site"))
    try:
        made.start()
        yield made
    finally:
        made.close()


def test_a_package_adds_a_provider_a_validator_and_an_observer(extended: Installation, tmp_path: Path) -> None:
    """Proves: TRG-01, TRG-06, EXT-01."""
    assert "broken of acme 1.2: RuntimeError: no licence" in extended.last_lines()
    mqtt = definition(tmp_path, {"type": "acme.mqtt", "config": {"topic": "orders"}})
    serving = extended.told("publish", mqtt)["publicationId"]
    assert "Mqtt orders" in extended.run("slots", "show", "orders")[1]
    for trigger, says in (
        ({"type": "acme.mqtt"}, "provider 'acme-mqtt'"),
        ({"type": "http", "method": "GET", "path": "/"}, "validator 'no-root' objects"),
        ({"type": "event", "name": "refused"}, "observer 'gateway' raised ConnectionError: the gateway is away"),
    ):
        refused = extended.told("publish", definition(tmp_path, trigger), code=1)
        assert says in refused["message"]
        shown = extended.told("publications", "show", refused["details"]["publicationId"])
        assert (shown["publication"]["status"], says in shown["publication"]["reason"]) == ("failed", True)
        assert extended.told("slots", "show", "orders")["slot"]["publicationId"] == serving
    code, told = extended.run("doctor")
    assert (code, "no licence" in told) == (1, True)
    assert "interlock.publication_validators: no-root of acme 1.2" in told
