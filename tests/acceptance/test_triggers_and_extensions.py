"""Triggers of every kind and a third party's package, as a user of the command line meets them."""

import json
from pathlib import Path
from typing import Any

from tests.acceptance.conftest import Shell
from tests.acceptance.program import command, running, up

STEPS = [{"id": "pause", "sleep": "1h"}]
KINDS: list[dict[str, Any]] = [
    {"type": "event", "name": "order.placed"},
    {"type": "http", "method": ["GET", "POST"], "path": "/orders/:id", "id": "endpoint"},
    {"type": "timer", "every": "15m"},
    {"type": "cron", "expression": "0 6 * * mon-fri", "zone": "Europe/Paris"},
]
PACKAGE = """
class Mqtt:
    id = "acme-mqtt"
    cardinality = "fan-out"

    def describe(self, trigger):
        if trigger.type != "acme.mqtt":
            return None
        from interlock.domain.definitions.providers import Descriptor
        return [Descriptor(type="Mqtt", name=trigger.config["topic"], claim="mqtt:" + trigger.config["topic"])]


class Policy:
    id = "no-root"

    def validate(self, candidate):
        from interlock.domain.refusal import fault
        return [fault("root", each.node_id, "another path than /", "/") for each in candidate.triggers
                if each.route and each.route.template == "/"]


class Gateway:
    id = "gateway"

    async def prepared(self, publication):
        if any(each.claim == "event:refused" for each in publication.triggers):
            raise ConnectionError("the gateway is away")


class Broken:
    def __init__(self):
        raise RuntimeError("no licence")
"""
POINTS = """[interlock.trigger_providers]
mqtt = acme:Mqtt
broken = acme:Broken
[interlock.publication_validators]
no-root = acme:Policy
[interlock.publication_observers]
gateway = acme:Gateway
"""


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


def test_a_package_adds_a_provider_a_validator_and_an_observer(tmp_path: Path, interlock: Shell) -> None:
    """Proves: TRG-01, TRG-06, EXT-01."""
    site, data = installed(tmp_path / "site"), str(tmp_path / "data")
    with running("up", "--data", data, "--port", "0", cwd=site) as program:
        api = program.ready().api
        assert "broken of acme 1.2: RuntimeError: no licence" in "".join(program.lines)
        mqtt = definition(tmp_path, {"type": "acme.mqtt", "config": {"topic": "orders"}})
        assert interlock("publish", mqtt, api=api).code == 0
        assert "Mqtt orders" in interlock("slots", "show", "orders", api=api).out
        raised = interlock("publish", definition(tmp_path, {"type": "acme.mqtt"}), api=api)
        assert (raised.code, "provider 'acme-mqtt'" in raised.err) == (1, True)
        root = interlock("publish", definition(tmp_path, {"type": "http", "method": "GET", "path": "/"}), api=api)
        assert (root.code, "validator 'no-root' objects" in root.err) == (1, True)
        away = interlock("publish", definition(tmp_path, {"type": "event", "name": "refused"}), api=api)
        assert (away.code, "observer 'gateway' raised ConnectionError: the gateway is away" in away.err) == (1, True)
        assert "Mqtt orders" in interlock("slots", "show", "orders", api=api).out
        doctor = command("doctor", "--data", data, api=api, cwd=site)
        assert doctor.code == 1
        assert "no licence" in doctor.out
        assert "interlock.publication_validators: no-root of acme 1.2" in doctor.out


def installed(site: Path) -> Path:
    """A folder with a package of a third party, as pip leaves it; a process finds it where it is started."""
    info = site / "acme-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "acme.py").write_text(PACKAGE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n", "utf-8")
    (info / "entry_points.txt").write_text(POINTS, "utf-8")
    return site
