"""What users install: the linked folders arrive as `interlock.domain` and so on, whole, and nothing else arrives."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("domain", "projections", "processors", "schemas")
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "src", *LINKED)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The names within a wheel that was built from a copy, so that no build folder is left in the checkout."""
    copy, made = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(copy)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(next(made.glob("*.whl"))) as archive:
        return frozenset(archive.namelist())


def test_the_wheel_holds_every_module_and_schema_of_the_linked_folders(wheel: frozenset[str]) -> None:
    expected = {
        f"interlock/{path.relative_to(ROOT)}"
        for folder in LINKED
        for pattern in ("*.py", "*.avsc")
        for path in (ROOT / folder).rglob(pattern)
    }
    assert expected - wheel == set()
    assert "interlock/py.typed" in wheel


def test_the_wheel_brings_nothing_generic_into_an_environment(wheel: frozenset[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"interlock"}
