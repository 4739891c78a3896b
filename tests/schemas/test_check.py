"""Each way in which domain, schemas and history can come apart is a fault of the build."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from interlock.schemas import check
from interlock.schemas.catalog import NESTED, STORED, Catalog, Row
from interlock.schemas.draft import draft
from interlock.schemas.errors import InvalidSchema
from interlock.schemas.inventory import record_modules, stored_types
from interlock.schemas.ledger import read_ledger, written_ledger
from tests.schemas import shop


def checked(root: Path, **changes: Any) -> check.Checked:
    """The shop's schemas below `root`, as the check is given them."""
    whole = check.Checked(root=root, rows=shop.ROWS, nested=shop.NESTED, upcasters=shop.UPCASTERS, modules=[shop])
    return dataclasses.replace(whole, **changes)


def released(root: Path) -> Path:
    """Notes the schemas below `root` as released."""
    ledger = check.released(Catalog(shop.ROWS, shop.NESTED, root), read_ledger(root))
    (root / "released.json").write_text(written_ledger(ledger), "utf-8")
    return root


def test_the_schemas_of_this_release_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """Proves: LOG-03, LOG-04"""
    assert check.main([]) == 0
    assert f"schemas: {len(STORED)} types, " in capsys.readouterr().out


def test_every_event_and_message_of_the_domain_is_found() -> None:
    found = {cls for module in record_modules() for cls in stored_types(module)[0]}
    assert found == {row.type for row in STORED}
    assert {cls for module in record_modules() for cls in stored_types(module)[1]} == set(NESTED.values())


def test_schemas_that_agree_have_no_fault(tmp_path: Path) -> None:
    assert check.faults(checked(shop.write_schemas(tmp_path))) == []
    assert check.faults(checked(released(tmp_path))) == []


def edited(edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The newest schema of `Sold`, changed."""
    schema: dict[str, Any] = json.loads(json.dumps(shop.SOLD_3))
    edit(schema)
    return schema


DISAGREEMENTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a field is missing": (
        lambda schema: schema["fields"].pop(2),
        "interlock.shop.Sold.buyer: expected this field of the dataclass, found none in the schema",
    ),
    "a field too many": (
        lambda schema: schema["fields"].append({"name": "note", "type": "string", "default": ""}),
        "interlock.shop.Sold.note: expected no such field, since the dataclass has none; found one in the schema",
    ),
    "another order": (
        lambda schema: schema["fields"].reverse(),
        "interlock.shop.Sold: expected the fields in the order ['item', 'prices', 'buyer', 'quantity'], found ['qua",
    ),
    "another type": (
        lambda schema: schema["fields"][3].update(type="string"),
        'interlock.shop.Sold.quantity: expected type "long", found "string"',
    ),
    "another type within": (
        lambda schema: schema["fields"][2].update(type=["null", "long"]),
        'interlock.shop.Sold.buyer: expected type ["null", "string"], found ["null", "long"]',
    ),
    "no default": (
        lambda schema: schema["fields"][2].pop("default"),
        "interlock.shop.Sold.buyer: expected default [null], found []",
    ),
    "a nested field is missing": (
        lambda schema: schema["fields"][1]["type"]["items"]["fields"].pop(),
        "interlock.shop.Price.currency: expected this field of the dataclass, found none in the schema",
    ),
    "a nested record has another name": (
        lambda schema: schema["fields"][1]["type"]["items"].update(name="Cost"),
        "expected a record interlock.shop.Price, as Sold holds one; found none",
    ),
}


@pytest.mark.parametrize("case", DISAGREEMENTS)
def test_a_schema_that_disagrees_with_its_dataclass_is_a_fault(tmp_path: Path, case: str) -> None:
    """Proves: LOG-03"""
    edit, expected = DISAGREEMENTS[case]
    root = shop.write_schemas(tmp_path, sold=(shop.SOLD_1, shop.SOLD_2, edited(edit)))
    assert any(f"schemas/events/shop/Sold.v3.avsc: {expected}" in fault for fault in check.faults(checked(root)))


def test_a_type_without_a_row_is_a_fault(tmp_path: Path) -> None:
    """Proves: LOG-03"""
    root = shop.write_schemas(tmp_path)
    rows = [row for row in shop.ROWS if row.type is not shop.Closed]
    found = check.faults(checked(root, rows=rows))
    assert "tests.schemas.shop.Closed: expected a row in STORED of schemas/catalog.py, found none" in found


def test_a_dataclass_that_is_neither_stored_nor_nested_is_a_fault(tmp_path: Path) -> None:
    found = check.faults(checked(shop.write_schemas(tmp_path), nested={}))
    assert any(fault.startswith("tests.schemas.shop.Price: expected it in the module's union") for fault in found)


def test_a_module_of_events_without_their_union_is_a_fault(tmp_path: Path) -> None:
    module = ModuleType("events")
    found = check.faults(checked(shop.write_schemas(tmp_path), modules=[module]))
    assert found == ["events: expected a union of its events, named <Aggregate>Event, found none"]


def test_a_row_without_a_schema_is_a_fault(tmp_path: Path) -> None:
    root = shop.write_schemas(tmp_path)
    (root / "events/shop/Closed.v1.avsc").unlink()
    [found] = check.faults(checked(root))
    assert found.startswith("expected the schema of shop.Closed version 1 at schemas/events/shop/Closed.v1.avsc, found")


@pytest.mark.parametrize("text", ["{", '"string"', '{"type": "record", "name": "Closed"}', "[]"])
def test_a_file_that_is_no_record_schema_is_a_fault(tmp_path: Path, text: str) -> None:
    root = shop.write_schemas(tmp_path)
    (root / "events/shop/Closed.v1.avsc").write_text(text, "utf-8")
    [found] = check.faults(checked(root))
    assert "schemas/events/shop/Closed.v1.avsc, found" in found


def test_a_schema_under_another_name_is_a_fault(tmp_path: Path) -> None:
    root = shop.write_schemas(tmp_path)
    (root / "events/shop/Closed.v1.avsc").write_text(json.dumps(shop.record("Shut", ("at_ms", "long"))), "utf-8")
    assert check.faults(checked(root)) == [
        "expected a record interlock.shop.Closed in schemas/events/shop/Closed.v1.avsc, found interlock.shop.Shut"
    ]


def test_a_schema_that_no_row_asks_for_is_a_fault(tmp_path: Path) -> None:
    root = shop.write_schemas(tmp_path)
    (root / "events/shop/Closed.v2.avsc").write_text("{}", "utf-8")
    assert check.faults(checked(root)) == [
        "schemas/events/shop/Closed.v2.avsc: expected a row of schemas/catalog.py that asks for it, found none"
    ]


def test_a_name_that_occurs_twice_is_a_fault(tmp_path: Path) -> None:
    rows = [*shop.ROWS, Row("shop.Closed", shop.Closed)]
    found = check.faults(checked(shop.write_schemas(tmp_path), rows=rows))
    assert found == ["schemas/catalog.py: expected each name once in STORED, found one twice"]


def test_a_released_schema_that_changed_is_a_fault_and_its_documentation_may(tmp_path: Path) -> None:
    """Proves: LOG-04"""
    root = released(shop.write_schemas(tmp_path))
    shop.write_schemas(
        tmp_path, ledger=read_ledger(root), sold=(shop.SOLD_1 | {"doc": "Now said."}, shop.SOLD_2, shop.SOLD_3)
    )
    assert check.faults(checked(root)) == []
    changed = shop.record("Sold", *((field["name"], field["type"]) for field in shop.SOLD_1["fields"]), ("x", "long"))
    shop.write_schemas(tmp_path, ledger=read_ledger(root), sold=(changed, shop.SOLD_2, shop.SOLD_3))
    [found] = check.faults(checked(root))
    assert found.startswith("schemas/events/shop/Sold.v1.avsc: expected it as it was released, found it changed; take")


def test_a_released_version_or_type_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    """Proves: LOG-04"""
    root = released(shop.write_schemas(tmp_path))
    ledger = read_ledger(root)
    ledger["shop.Closed"]["2"] = ledger["shop.Closed"]["1"]
    ledger["shop.Opened"] = ledger["shop.Closed"]
    (root / "released.json").write_text(written_ledger(ledger), "utf-8")
    assert check.faults(checked(root)) == [
        "schemas/catalog.py: expected a row for shop.Opened, which was released; found none",
        "shop.Closed: expected the released v2 in the catalogue, found only v1",
    ]


def test_a_step_that_nothing_can_take_is_a_fault(tmp_path: Path) -> None:
    """Proves: LOG-04"""
    [found] = check.faults(checked(shop.write_schemas(tmp_path), upcasters={}))
    assert found.startswith(
        "shop.Sold: expected v2 to be readable as v3, or an upcaster for it in schemas/upcasters.py"
    )
    assert found.endswith("; found interlock.shop.Sold.quantity: expected long, found string")


def test_a_version_that_differs_in_nothing_is_a_fault(tmp_path: Path) -> None:
    root = shop.write_schemas(tmp_path, sold=(shop.SOLD_1, shop.SOLD_3, shop.SOLD_3))
    found = check.faults(checked(root))
    assert "shop.Sold: expected v3 to differ from v2, found the same schema" in found


def test_an_upcaster_that_leads_nowhere_is_a_fault(tmp_path: Path) -> None:
    upcasters = shop.UPCASTERS | {("shop.Closed", 1): shop.quantity_as_number}
    found = check.faults(checked(shop.write_schemas(tmp_path), upcasters=upcasters))
    assert found == ["schemas/upcasters.py: expected shop.Closed to have a version 2, found none"]


@pytest.mark.parametrize("text", [None, "no JSON"])
def test_a_ledger_that_cannot_be_read_is_a_fault(tmp_path: Path, text: str | None) -> None:
    root = shop.write_schemas(tmp_path)
    if text is None:
        (root / "released.json").unlink()
    else:
        (root / "released.json").write_text(text, "utf-8")
    [found] = check.faults(checked(root))
    assert found.startswith("expected the released schemas in schemas/released.json, found ")


def test_a_release_adds_what_is_new_and_changes_nothing(tmp_path: Path) -> None:
    root = released(shop.write_schemas(tmp_path))
    before = read_ledger(root)
    assert {name: list(versions) for name, versions in before.items()} == {
        "shop.Sold": ["1", "2", "3"], "shop.Closed": ["1"], "shop.Day": ["1"],
    }  # fmt: skip
    changed = json.loads(json.dumps(before))
    changed["shop.Sold"]["1"]["fingerprint"] = "as it was"
    del changed["shop.Day"]
    again = check.released(Catalog(shop.ROWS, shop.NESTED, root), changed)
    assert again["shop.Sold"]["1"]["fingerprint"] == "as it was"
    assert again["shop.Day"] == before["shop.Day"]


def test_a_draft_fills_what_is_missing_and_follows_the_dataclass_until_it_is_released(tmp_path: Path) -> None:
    root = shop.write_schemas(tmp_path)
    path = root / "events/shop/Closed.v1.avsc"
    path.unlink()
    assert draft(shop.ROWS, shop.NESTED, root) == ["events/shop/Closed.v1.avsc"]
    assert json.loads(path.read_text("utf-8"))["doc"] == "The shop was closed."
    assert check.faults(checked(root)) == []
    path.write_text(json.dumps(shop.record("Closed", ("at_ms", "string"))), "utf-8")
    assert draft(shop.ROWS, shop.NESTED, root) == ["events/shop/Closed.v1.avsc"]
    released(root)
    path.write_text(json.dumps(shop.record("Closed", ("at_ms", "string"))), "utf-8")
    assert draft(shop.ROWS, shop.NESTED, root) == []


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unstorable:
    """A type of field that no record holds."""

    weights: dict[str, float]


def test_a_field_that_no_record_can_hold_is_a_fault(tmp_path: Path) -> None:
    rows = [*shop.ROWS, Row("shop.Unstorable", Unstorable)]
    root = shop.write_schemas(tmp_path)
    with pytest.raises(
        InvalidSchema, match=r"expected a type that a record can hold at Unstorable\.weights, found dict"
    ):
        draft(rows, shop.NESTED, root)
