"""What other packages name in their entry points, and what becomes of one that is broken."""

import asyncio
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from interlock.cli.doctor import examine
from interlock.domain.definitions.providers import PROVIDERS
from interlock.domain.publishing.checks import CandidateSet, objection
from interlock.processors.publishing.observers import PreparedPublication, observed
from interlock.runtime.extensions import OBSERVER_GROUP, PROVIDER_GROUP, VALIDATOR_GROUP, load_extensions

SOURCE = """
class Mqtt:
    id = "acme-mqtt"
    cardinality = "fan-out"

    def describe(self, trigger):
        return None


class Freeze:
    id = "freeze"

    def validate(self, candidate):
        return []


class Gateway:
    id = "gateway"

    async def prepared(self, publication):
        pass


class Blank(Mqtt):
    id = " "


class Odd(Mqtt):
    cardinality = "some"


class Raises:
    def __init__(self):
        raise RuntimeError("no broker")


class Leaves:
    def __init__(self):
        raise SystemExit(3)
"""
CANDIDATE = CandidateSet(
    shell="default",
    definition_id="orders",
    slot_name="default",
    version="v1",
    artifact_id="a1",
    triggers=(),
    replaces="",
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a third party."""
    (tmp_path / "acme_extensions.py").write_text(SOURCE, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "acme_extensions", raising=False)
    return "acme_extensions"


def point(group: str, name: str, value: str) -> EntryPoint:
    """An entry point of a package."""
    return EntryPoint(name=name, value=value, group=group)


def test_extensions_are_what_entry_points_name(module: str) -> None:
    """Proves: TRG-01, TRG-06, EXT-01"""
    found = load_extensions(
        [
            point(PROVIDER_GROUP, "mqtt", f"{module}:Mqtt"),
            point(VALIDATOR_GROUP, "freeze", f"{module}:Freeze"),
            point(OBSERVER_GROUP, "gateway", f"{module}:Gateway"),
            point("somebody.else", "mqtt", f"{module}:Raises"),
        ]
    )
    assert [each.id for each in found.providers] == [*(each.id for each in PROVIDERS), "acme-mqtt"]
    assert [each.id for each in found.validators] == ["freeze"]
    assert [each.id for each in found.observers] == ["gateway"]
    assert found.broken == ()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("Missing", "AttributeError"),
        ("Raises", "RuntimeError: no broker"),
        ("Leaves", "SystemExit: 3"),
        ("Blank", "blank"),
        ("Odd", "cardinality"),
        ("Gateway", "method describe"),
    ],
)
def test_one_that_can_not_be_loaded_is_named_and_ends_nothing(
    module: str, value: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Proves: TRG-02"""
    points = [point(PROVIDER_GROUP, "broken", f"{module}:{value}"), point(PROVIDER_GROUP, "mqtt", f"{module}:Mqtt")]
    found = load_extensions(points)
    (broken,) = found.broken
    assert broken.name == "broken"
    assert why in broken.why
    assert "acme-mqtt" in [each.id for each in found.providers]
    assert "broken" in caplog.text


def test_a_module_that_is_not_there_is_said_too() -> None:
    (broken,) = load_extensions([point(VALIDATOR_GROUP, "gone", "not_there_at_all:Validator")]).broken
    assert "ModuleNotFoundError" in broken.why


def test_a_validator_or_an_observer_that_is_broken_lets_nothing_be_published(module: str) -> None:
    """Proves: TRG-06"""
    found = load_extensions(
        [
            point(VALIDATOR_GROUP, "policy", f"{module}:Raises"),
            point(OBSERVER_GROUP, "gateway", f"{module}:Raises"),
        ]
    )
    refused = objection(CANDIDATE, found.validators, 0)
    assert refused is not None
    assert "'policy'" in refused.sentence
    assert "no broker" in refused.sentence
    publication = PreparedPublication(
        publication_id="p1", shell="default", definition_id="orders", slot_id="s1", artifact_id="a1", triggers=()
    )
    assert "'gateway'" in asyncio.run(observed(found.observers, publication))


async def test_doctor_names_what_is_broken(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves: EXT-01"""
    (tmp_path / "acme-1.2.dist-info").mkdir()
    (tmp_path / "acme-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    (tmp_path / "acme-1.2.dist-info" / "entry_points.txt").write_text(
        f"[{VALIDATOR_GROUP}]\npolicy = {module}:Raises\n[{OBSERVER_GROUP}]\ngateway = {module}:Gateway\n"
    )
    monkeypatch.chdir(tmp_path)
    findings = [each for each in await examine("memory:", tmp_path, "") if each.what == "extensions"]
    assert [(each.ok, "acme 1.2" in each.found) for each in findings] == [(True, True), (False, True)]
    assert "policy" in findings[1].found
    assert "RuntimeError: no broker" in findings[1].found
