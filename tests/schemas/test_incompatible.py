"""Every kind of change by which records of a release could not be read any more, or not rightly, fails the build."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from interlock.schemas import check
from interlock.schemas.catalog import Catalog, Row
from interlock.schemas.derive import derive
from interlock.schemas.ledger import read_ledger, written_ledger
from tests.schemas import shop

ROOT = Path(__file__).resolve().parents[2]


def released(root: Path, rows: tuple[Row, ...] = shop.ROWS) -> Path:
    """Notes the schemas below `root` as released."""
    ledger = check.released(Catalog(rows, shop.NESTED, root), read_ledger(root))
    (root / "released.json").write_text(written_ledger(ledger), "utf-8")
    return root


def faults(root: Path, **changes: Any) -> list[str]:
    """What the check says of the shop's schemas below `root`."""
    whole = check.Checked(root=root, rows=shop.ROWS, nested=shop.NESTED, upcasters=shop.UPCASTERS, modules=[shop])
    return check.faults(dataclasses.replace(whole, **changes))


def field(schema: Any, name: str) -> Any:
    """A field of a record schema."""
    return next(each for each in schema["fields"] if each["name"] == name)


Edit = Callable[[Any], object]

EDITS: dict[str, Edit] = {
    "a field removed": lambda schema: schema["fields"].pop(0),
    "a field renamed": lambda schema: schema["fields"][0].update(name="article"),
    "another type": lambda schema: field(schema, "quantity").update(type="string"),
    "a wider type": lambda schema: field(schema, "quantity").update(type="double"),
    "another order of fields": lambda schema: schema["fields"].reverse(),
    "another order of a union": lambda schema: field(schema, "buyer")["type"].reverse(),
    "a branch less in a union": lambda schema: field(schema, "buyer").update(type="null"),
    "a branch more in a union": lambda schema: field(schema, "buyer")["type"].append("long"),
    "a new field without a default": lambda schema: schema["fields"].append({"name": "note", "type": "string"}),
    "a new field with a default": lambda schema: schema["fields"].append(
        {"name": "note", "type": "string", "default": ""}
    ),
    "another default": lambda schema: field(schema, "prices")["type"]["items"]["fields"][1].update(default="USD"),
    "no default": lambda schema: field(schema, "buyer").pop("default"),
    "an alias": lambda schema: field(schema, "item").update(aliases=["article"]),
    "a nested field removed": lambda schema: field(schema, "prices")["type"]["items"]["fields"].pop(),
    "a nested record renamed": lambda schema: field(schema, "prices")["type"]["items"].update(name="Cost"),
    "a list as a map": lambda schema: field(schema, "prices").update(type={"type": "map", "values": "long"}),
}


@pytest.mark.parametrize("case", EDITS)
def test_a_released_version_is_never_edited(tmp_path: Path, case: str) -> None:
    """Proves: LOG-04"""
    root = released(shop.write_schemas(tmp_path))
    schema = json.loads(json.dumps(shop.SOLD_3))
    EDITS[case](schema)
    shop.write_schemas(root, sold=(shop.SOLD_1, shop.SOLD_2, schema), ledger=read_ledger(root))
    assert any(
        "schemas/events/shop/Sold.v3.avsc: expected it as it was released, found it changed" in fault
        for fault in faults(root)
    )


def test_an_enum_is_refused_since_an_older_release_can_not_read_a_new_symbol(tmp_path: Path) -> None:
    """Proves: LOG-04"""
    schema = json.loads(json.dumps(shop.SOLD_3))
    field(schema, "item").update(type={"type": "enum", "name": "Item", "symbols": ["tea"]})
    [found] = faults(shop.write_schemas(tmp_path, sold=(shop.SOLD_1, shop.SOLD_2, schema)))
    assert found.startswith("expected a primitive, a record, an array, a map or a union, found {'type': 'enum'")


NOT_READABLE = (
    "another type",
    "a branch less in a union",
    "a new field without a default",
    "a field renamed",
    "a nested record renamed",
    "a list as a map",
)


@pytest.mark.parametrize("case", NOT_READABLE)
def test_a_new_version_that_cannot_read_the_released_one_needs_an_upcaster(tmp_path: Path, case: str) -> None:
    """Proves: LOG-04"""
    root = released(shop.write_schemas(tmp_path))
    schema = json.loads(json.dumps(shop.SOLD_3))
    EDITS[case](schema)
    shop.write_schemas(root, sold=(shop.SOLD_1, shop.SOLD_2, shop.SOLD_3, schema), ledger=read_ledger(root))
    rows = (Row("shop.Sold", shop.Sold, 4), *shop.ROWS[1:])
    expected = "shop.Sold: expected v3 to be readable as v4, or an upcaster"
    assert any(fault.startswith(expected) for fault in faults(root, rows=rows))
    upcasters = {**shop.UPCASTERS, ("shop.Sold", 3): shop.quantity_as_number}
    assert not any(fault.startswith(expected) for fault in faults(root, rows=rows, upcasters=upcasters))


GONE: dict[str, tuple[tuple[Row, ...], str]] = {
    "an event removed": (shop.ROWS[1:], "expected a row for shop.Sold, which was released; found none"),
    "an event renamed": (
        (Row("shop.Bought", shop.Sold, 3), *shop.ROWS[1:]),
        "expected a row for shop.Sold, which was released; found none",
    ),
    "an event in another context": (
        (Row("market.Sold", shop.Sold, 3), *shop.ROWS[1:]),
        "expected a row for shop.Sold, which was released; found none",
    ),
    "a version taken back": (
        (Row("shop.Sold", shop.Sold, 2), *shop.ROWS[1:]),
        "shop.Sold: expected the released v3 in the catalogue, found only v2",
    ),
}


@pytest.mark.parametrize("case", GONE)
def test_what_was_released_stays_under_its_name(tmp_path: Path, case: str) -> None:
    """Proves: LOG-04"""
    rows, expected = GONE[case]
    assert any(expected in fault for fault in faults(released(shop.write_schemas(tmp_path)), rows=rows))


def test_an_upcaster_of_a_released_version_is_never_removed(tmp_path: Path) -> None:
    """Proves: LOG-04"""
    [found] = faults(released(shop.write_schemas(tmp_path)), upcasters={})
    assert found.startswith("shop.Sold: expected v2 to be readable as v3, or an upcaster for it")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """As a release had it."""

    by: tuple[Literal["hand", "scale"], ...] | None
    unit: Literal["g", "oz"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WeighedAgain:
    """As it is now: another word for "oz", and one more way."""

    by: tuple[Literal["hand", "scale", "eye"], ...] | None
    unit: Literal["g", "ounce"]


def test_a_choice_that_was_released_stays_one(tmp_path: Path) -> None:
    """Proves: LOG-04 (for Avro both are strings)."""
    root = shop.write_schemas(tmp_path)
    schema = derive(Weighed, {Weighed: "interlock.shop.Weighed"})
    (root / "events/shop/Weighed.v1.avsc").write_text(json.dumps(schema), "utf-8")
    before = (*shop.ROWS, Row("shop.Weighed", Weighed))
    released(root, before)
    assert faults(root, rows=before) == []
    [found] = faults(root, rows=(*shop.ROWS, Row("shop.Weighed", WeighedAgain)))
    assert found.startswith("shop.Weighed: expected interlock.shop.Weighed.unit to know 'oz', as records of the rel")


def test_the_build_ends_with_1_for_an_incompatible_change_of_the_engines_own_schemas(tmp_path: Path) -> None:
    """Proves: LOG-04 (the command that CI runs, on a copy of the package)."""
    package = tmp_path / "interlock"
    shutil.copytree(ROOT / "src" / "interlock", package)

    def run(*arguments: str) -> tuple[int, str]:
        told = os.environ | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-m", "interlock.schemas.check", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert run("--release") == (0, "")
    assert run() == (0, "")
    path = package / "schemas" / "events" / "executions" / "TimerFired.v1.avsc"
    schema = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(schema | {"fields": schema["fields"][:1]}), "utf-8")
    code, said = run()
    assert code == 1
    assert "schemas/events/executions/TimerFired.v1.avsc: expected it as it was released, found it changed" in said
    path.write_text(json.dumps(schema | {"doc": "Said better."}), "utf-8")
    assert run() == (0, "")
