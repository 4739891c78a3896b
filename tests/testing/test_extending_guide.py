"""The guide's extensions pass the conformance tests as they stand there, and those tests find what is wrong."""

import asyncio
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from interlock import Workflow, http, trigger
from interlock.domain.definitions.document import TriggerPart
from interlock.domain.definitions.executable import Cardinality
from interlock.domain.definitions.providers import Descriptor, TriggerProvider
from interlock.runtime.extensions import OBSERVER_GROUP, PROVIDER_GROUP, VALIDATOR_GROUP
from interlock.testing import check_publication_observer, check_publication_validator, check_trigger_provider

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "extending.md"
TEXT = GUIDE.read_text("utf-8")


def guide() -> ModuleType:
    """Its Python blocks as one module."""
    module = ModuleType("guide_on_extending")
    text = "\n\n".join(re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))
    exec(compile(text, str(GUIDE), "exec"), vars(module))  # noqa: S102 - the text is this repository's own
    return module


MODULE = guide()
TESTS = sorted(name for name in vars(MODULE) if name.startswith("test_"))
ORDERS = Workflow("orders").on(http.post("/orders")).sleep("1h")


@pytest.mark.parametrize("name", TESTS)
def test_each_test_of_the_guide_passes(name: str) -> None:
    """Proves: EXT-01"""
    result = cast("Callable[[], Any]", vars(MODULE)[name])()
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_the_guide_names_every_group() -> None:
    assert len(TESTS) == 3
    assert [group for group in (PROVIDER_GROUP, VALIDATOR_GROUP, OBSERVER_GROUP) if f'"{group}"' not in TEXT] == []


class Greedy:
    """Takes every trigger for its own."""

    id = "greedy"
    cardinality: Cardinality = "fan-out"

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor]:
        return [Descriptor(type="All", name="all", claim="all")]


class Fickle:
    """Says something else each time."""

    id = "fickle"
    cardinality: Cardinality = "fan-out"
    count = 0

    def describe(self, trigger: TriggerPart) -> Sequence[Descriptor]:
        self.count += 1
        return [Descriptor(type="All", name=str(self.count), claim="all")]


OWN = [trigger("acme.mqtt", config={"topic": "orders"})]


@pytest.mark.parametrize(("provider", "why"), [(Greedy, "which is not its own"), (Fickle, "twice")])
def test_a_provider_that_holds_not_what_it_has_to_is_found(provider: type[TriggerProvider], why: str) -> None:
    """Proves: EXT-01"""
    with pytest.raises(AssertionError, match=why):
        check_trigger_provider(provider(), own=OWN)


def test_a_validator_that_lets_pass_what_it_should_refuse_is_found() -> None:
    """Proves: EXT-01"""
    with pytest.raises(AssertionError, match="expected an objection to 'orders'"):
        check_publication_validator(MODULE.NoRoot(), passes=[], refuses=[ORDERS])


def test_an_observer_that_takes_a_publication_once_only_is_found() -> None:
    """Proves: EXT-01"""

    class Once:
        id = "once"
        told = False

        async def prepared(self, publication: object) -> None:
            assert not self.told, "told twice"
            self.told = True

    with pytest.raises(AssertionError, match="the second time"):
        asyncio.run(check_publication_observer(Once(), [ORDERS]))
