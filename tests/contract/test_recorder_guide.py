"""What the guide shows runs as it stands there, on both backends."""

import re
import sys
from pathlib import Path
from types import ModuleType
from uuid import uuid4

import pytest

pytestmark = pytest.mark.contract

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "eventsourcing.md"


@pytest.fixture
def _environment(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_environment")
def test_every_example_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    # The library finds an event's class again by the name of its module, and remembers it for good.
    module = ModuleType(f"guide_{uuid4().hex}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), module.__dict__)  # noqa: S102 - the text is ours
    assert len(blocks) == 4
