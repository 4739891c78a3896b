"""What the tests of the whole program share; each of them is marked `acceptance`."""

from pathlib import Path

import pytest

from interlock.cli import main
from tests.acceptance.program import Ended


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what stands in this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.acceptance)


class Shell:
    """Commands in this process, by the entry point of the program: a test may give many of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, api: str = "http://127.0.0.1:1", cwd: Path | None = None) -> Ended:
        """A command from its start to its end."""
        with self._monkeypatch.context() as changed:
            changed.setenv("INTERLOCK_API", api)
            changed.setattr("sys.argv", ["interlock", *arguments])
            if cwd is not None:
                changed.chdir(cwd)
            self._capsys.readouterr()
            with pytest.raises(SystemExit) as end:
                main.main()
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Ended(int(end.value.code or 0), out, err)


@pytest.fixture
def interlock(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command line."""
    return Shell(monkeypatch, capsys)
