"""A third party's package with extensions of every kind, as pip leaves it in a folder."""

from pathlib import Path

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


def installed(site: Path) -> Path:
    """A folder with the package, which a process finds that has it on its path."""
    info = site / "acme-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "acme.py").write_text(PACKAGE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n", "utf-8")
    (info / "entry_points.txt").write_text(POINTS, "utf-8")
    return site
