"""What import-linter's contracts can't say, and a check that it walks the linked folders at all."""

from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = (
    "interlock.log.sqlite.log",
    "interlock.log.kafka.log",
    "interlock.log.memory",
    "interlock.log.blobs.local",
    "interlock.log.blobs.memory",
    "interlock.log.blobs.object",
)
COMPOSERS = ("interlock.runtime.compose", "interlock.testing")


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom within the package."""
    return grimp.build_graph("interlock", cache_dir=None)


def is_part(module: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of these, lies within one, or is a part of one that was split (kafka_read)."""
    return any(module == package or module.startswith((package + ".", package + "_")) for package in packages)


def test_the_linted_graph_holds_every_module_of_the_linked_folders() -> None:
    expected = {
        ".".join(("interlock", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for folder in ("domain", "projections", "processors", "schemas")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert expected - graph().modules == set()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_adapters_of_the_log_and_of_the_blob_store_are_named_only_where_the_parts_are_put_together(
    adapter: str,
) -> None:
    importers = {
        f"{importer} imports {module}"
        for module in graph().modules
        if is_part(module, (adapter,))
        for importer in graph().find_modules_that_directly_import(module)
        if not is_part(importer, (adapter, *COMPOSERS))
    }
    assert importers == set()
