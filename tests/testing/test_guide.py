"""The guide's tests pass, just as they stand there."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from interlock.testing import Rehearsal

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "testing.md"


def guide() -> ModuleType:
    """Its Python blocks as one module."""
    module = ModuleType("guide_on_testing")
    text = "\n\n".join(re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    exec(compile(text, str(GUIDE), "exec"), vars(module))  # noqa: S102 - the text is this repository's own
    return module


MODULE = guide()
TESTS = sorted(name for name in vars(MODULE) if name.startswith("test_"))


@pytest.fixture
def stage() -> Iterator[Rehearsal]:
    """As the guide's fixture makes it."""
    with Rehearsal(MODULE.reminders) as stage:
        stage.publish(MODULE.reminders)
        yield stage


@pytest.mark.parametrize("name", TESTS)
def test_each_test_of_the_guide_passes(name: str, stage: Rehearsal) -> None:
    """Proves: OPS-05."""
    test = cast("Callable[..., None]", vars(MODULE)[name])
    given: dict[str, object] = {"stage": stage, "seed": 3}
    test(**{parameter: given[parameter] for parameter in inspect.signature(test).parameters})


def test_the_guide_names_every_public_method() -> None:
    text = GUIDE.read_text("utf-8")
    public = [name for name in vars(Rehearsal) if not name.startswith("_") and name != "close"]
    assert [name for name in public if f".{name}" not in text] == []
    assert len(TESTS) == 4
