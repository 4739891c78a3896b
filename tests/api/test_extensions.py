"""Triggers of every kind, and extensions of third parties, by HTTP on the whole engine."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.domain.definitions.document import CustomTrigger, TriggerPart
from interlock.domain.definitions.executable import Cardinality
from interlock.domain.definitions.providers import PROVIDERS, Descriptor
from interlock.domain.publishing.checks import CandidateSet
from interlock.domain.refusal import Fault, fault
from interlock.processors.publishing.observers import PreparedPublication
from interlock.runtime.extensions import Extensions
from tests.api.service import WAIT_S, Service, document, serving


@dataclass(frozen=True)
class Mqtt:
    """Starts runs by messages of a broker."""

    id: str = "acme-mqtt"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor] | Fault | None:
        if not isinstance(trigger, CustomTrigger) or trigger.type != "acme.mqtt":
            return None
        topic = trigger.config.get("topic")
        if not isinstance(topic, str):
            return fault("topic", "config.topic", "a topic", repr(topic))
        return [Descriptor(type="Mqtt", name=topic, claim=f"mqtt:{topic}")]


@dataclass(frozen=True)
class NoRoot:
    """Keeps the root of the site free."""

    id: str = "no-root"

    def validate(self, candidate: CandidateSet) -> Sequence[Fault]:
        routes = (each for each in candidate.triggers if each.route and each.route.template == "/")
        return [fault("root", each.node_id, "another path than /", "/") for each in routes]


@dataclass
class Recorder:
    """Notes what it is told; raises or lingers on demand."""

    id: str = "recorder"
    raises: Exception | None = None
    told: list[PreparedPublication] = field(default_factory=list[PreparedPublication])
    go_on: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def prepared(self, publication: PreparedPublication) -> None:
        self.told.append(publication)
        self.asked.set()
        if self.go_on is not None:
            await self.go_on.wait()
        if self.raises is not None:
            raise self.raises


def triggered(*triggers: dict[str, Any]) -> str:
    """A definition with these triggers."""
    return json.dumps({**json.loads(document()), "triggers": triggers})


KINDS = triggered(
    {"type": "event", "name": "order.placed"},
    {"type": "http", "method": "POST", "path": "/orders/:id"},
    {"type": "timer", "every": "15m"},
    {"type": "cron", "expression": "0 6 * * *", "zone": "Europe/Paris"},
)


async def test_every_kind_of_trigger_is_published_shown_and_warned_about(service: Service) -> None:
    """Proves: SCH-01, RTE-01 (case B4)."""
    looked = await service.post("/v1/preflight", {"document": KINDS})
    assert [each["claim"] for each in looked["added"]] == [
        "event:order.placed",
        "http:POST /orders/:",
        "timer:900000ms",
        "cron:0 6 * * * Europe/Paris",
    ]
    published = await service.publish(KINDS)
    assert len(looked["warnings"]) == 2
    assert published["warnings"] == looked["warnings"]
    shown = (await service.get("/v1/slots/orders/default", position=published["position"]))["authority"]
    by_type = {each["type"]: each for each in shown["triggers"]}
    assert by_type["HttpEndpoint"]["route"] == {"method": "POST", "template": "/orders/:id"}
    assert by_type["Cron"]["schedule"]["zone"] == "Europe/Paris"
    assert by_type["Timer"]["schedule"]["everyMs"] == 900_000
    assert by_type["Event"]["route"] is None
    assert shown["warnings"] == looked["warnings"]


async def test_an_endpoint_that_somebody_has_is_refused_naming_who(service: Service) -> None:
    """Proves: TRG-04, RTE-02 (cases C4, C5, B13)."""
    first = await service.publish(KINDS)
    other = json.dumps({**json.loads(KINDS), "name": "others"}).replace("/orders/:id", "/orders/:number")
    refused = await service.post("/v1/publish", {"document": other, "wait": WAIT_S}, 409)
    (conflict,) = refused["conflicts"]
    assert (conflict["claim"], conflict["publicationId"]) == ("http:POST /orders/:", first["publicationId"])


async def test_a_provider_of_a_third_party_describes_its_triggers(tmp_path: Path) -> None:
    """Proves: TRG-01, TRG-02."""
    async with serving(tmp_path, extensions=Extensions(providers=(*PROVIDERS, Mqtt()))) as service:
        await service.get("/health/ready", wait=WAIT_S)
        published = await service.publish(triggered({"type": "acme.mqtt", "config": {"topic": "orders"}}))
        detail = await service.get(f"/v1/publications/{published['publicationId']}", position=published["position"])
        assert [each["claim"] for each in detail["triggers"]] == ["mqtt:orders"]
        wrong = {"document": triggered({"type": "acme.mqtt"}), "wait": WAIT_S}
        refused = await service.post("/v1/publish", wrong, 400)
        assert refused["faults"][0]["where"] == "triggers[0].config.topic"
        assert "acme-mqtt" in refused["message"]


async def test_a_validator_is_heard_by_preflight_and_publish(tmp_path: Path) -> None:
    """Proves: TRG-06."""
    async with serving(tmp_path, extensions=Extensions(validators=(NoRoot(),))) as service:
        await service.get("/health/ready", wait=WAIT_S)
        root = triggered({"type": "http", "method": "GET", "path": "/"})
        for path in ("/v1/preflight", "/v1/publish"):
            refused = await service.post(path, {"document": root}, 400)
            assert "Publication validator 'no-root' objects" in refused["message"]
        await service.publish(KINDS)


async def test_an_observer_is_told_before_a_publication_is_active(tmp_path: Path) -> None:
    """Proves: TRG-06."""
    recorder = Recorder(go_on=asyncio.Event())
    async with serving(tmp_path, extensions=Extensions(observers=(recorder,))) as service:
        await service.get("/health/ready", wait=WAIT_S)
        publishing = asyncio.create_task(service.publish(KINDS))
        await recorder.asked.wait()
        assert (await service.get("/v1/slots"))["items"] == []
        assert recorder.go_on is not None
        recorder.go_on.set()
        published = await publishing
        (told,) = recorder.told
        assert told.publication_id == published["publicationId"]
        assert {each.type for each in told.triggers} == {"Event", "HttpEndpoint", "Timer", "Cron"}
        assert [each.route.template for each in told.triggers if each.route] == ["/orders/:id"]


async def test_an_observer_that_fails_fails_the_publish_with_its_name_and_the_authority_stays(tmp_path: Path) -> None:
    """Proves: TRG-06, PUB-13."""
    recorder = Recorder()
    async with serving(tmp_path, extensions=Extensions(observers=(recorder,))) as service:
        await service.get("/health/ready", wait=WAIT_S)
        first = await service.publish(KINDS)
        recorder.raises = OSError("the gateway is away")
        refused = await service.post("/v1/publish", {"document": document(event="b"), "wait": WAIT_S}, 409)
        assert "'recorder' raised OSError: the gateway is away" in refused["message"]
        slot = await service.get("/v1/slots/orders/default")
        assert slot["authority"]["publication"]["publicationId"] == first["publicationId"]
        recorder.raises = None
        assert (await service.publish(document(event="b")))["status"] == "active"
