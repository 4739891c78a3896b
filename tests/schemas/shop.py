"""A small context of its own, whose schemas the tests change as the engine's may never be changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.schemas.catalog import Row, schema_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What something costs."""

    cents: int
    currency: str = "EUR"
    """Three letters; version 1 had none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sold:
    """Something was sold."""

    item: str
    prices: tuple[Price, ...]
    buyer: str | None
    """Version 1 had none."""
    quantity: int
    """Version 1 and 2 held it as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The shop was closed."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What happened on a day."""

    facts: tuple[Sold | Closed, ...]


SoldEvent = Sold | Closed | Day
"""What the check finds by its name, as in a module of the domain: no other module imports it."""

ROWS = (Row("shop.Sold", Sold, 3), Row("shop.Closed", Closed), Row("shop.Day", Day))
NESTED: Mapping[str, type] = {"shop.Price": Price}


def record(name: str, *fields: tuple[Any, ...]) -> dict[str, Any]:
    """A record schema; a field is a name, a type, and its default if there is one."""
    return {
        "type": "record",
        "name": name,
        "namespace": "interlock.shop",
        "fields": [
            {"name": field[0], "type": field[1]} | ({"default": field[2]} if len(field) > 2 else {}) for field in fields
        ],
    }


PRICE_1 = record("Price", ("cents", "long"))
PRICE = record("Price", ("cents", "long"), ("currency", "string", "EUR"))
SOLD_1 = record("Sold", ("item", "string"), ("prices", {"type": "array", "items": PRICE_1}), ("quantity", "string"))
SOLD_2 = record(
    "Sold",
    ("item", "string"),
    ("prices", {"type": "array", "items": PRICE}),
    ("buyer", ["null", "string"], None),
    ("quantity", "string"),
)
SOLD_3 = record(
    "Sold",
    ("item", "string"),
    ("prices", {"type": "array", "items": PRICE}),
    ("buyer", ["null", "string"], None),
    ("quantity", "long"),
)
CLOSED = record("Closed", ("at_ms", "long"))
DAY = record("Day", ("facts", {"type": "array", "items": [SOLD_3, CLOSED]}))


def quantity_as_number(sold: dict[str, object]) -> dict[str, object]:
    """Version 2 to 3."""
    return sold | {"quantity": int(str(sold["quantity"]))}


UPCASTERS = {("shop.Sold", 2): quantity_as_number}


def write_schemas(root: Path, sold: Sequence[Any] = (SOLD_1, SOLD_2, SOLD_3), ledger: object = None) -> Path:
    """Writes the schemas, and a ledger, as they lie in a release; returns `root`."""
    found = {schema_path("shop.Sold", version): schema for version, schema in enumerate(sold, 1)}
    found |= {schema_path("shop.Closed", 1): CLOSED, schema_path("shop.Day", 1): DAY}
    for path, schema in found.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps(schema), "utf-8")
    (root / "released.json").write_text(json.dumps(ledger or {}), "utf-8")
    return root
