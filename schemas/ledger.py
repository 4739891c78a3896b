"""Which schemas are released: `released.json` holds each with its fingerprint, without its documentation.

What stands there was written to logs that somebody keeps, so it may never change. `python -m interlock.schemas.check
--release` adds what is new; nothing removes an entry. Until a version is released, its file follows the dataclass.
"""

import json
from importlib.resources.abc import Traversable
from typing import Any, cast

from interlock.schemas.avro import Definition, is_union
from interlock.schemas.errors import InvalidSchema

LEDGER = "released.json"

Ledger = dict[str, dict[str, Definition]]
"""Stored name → version → `{"fingerprint": hexadecimal digits, "schema": …, "choices": what fields may hold}`."""


def read_ledger(root: Traversable) -> Ledger:
    """The ledger in a folder of schemas. Raises `InvalidSchema` where it is missing or no JSON."""
    try:
        return cast(Ledger, json.loads(root.joinpath(LEDGER).read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise InvalidSchema(f"expected the released schemas in schemas/{LEDGER}, found {error!r}") from error


def written_ledger(ledger: Ledger) -> str:
    """The text of a ledger: one line a version, so that a change of one shows as such."""
    lines = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"    {json.dumps(version)}: {json.dumps(entry)}" for version, entry in versions.items())
        + "\n  }"
        for name, versions in ledger.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n" if lines else "{}\n"


def bare(schema: Any) -> Any:
    """A schema without its documentation, which may be improved at any time."""
    if is_union(schema):
        return [bare(branch) for branch in schema]
    match schema:
        case {"type": "record"}:
            fields = [{**field, "type": bare(field["type"])} for field in schema["fields"]]
            for field in fields:
                field.pop("doc", None)
            return {key: value for key, value in schema.items() if key != "doc"} | {"fields": fields}
        case {"type": "array"}:
            return {**schema, "items": bare(schema["items"])}
        case {"type": "map"}:
            return {**schema, "values": bare(schema["values"])}
        case _:
            return schema
