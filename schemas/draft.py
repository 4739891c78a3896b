"""Writes the schemas that the catalogue asks for: `python -m interlock.schemas.draft`.

A draft is made of the dataclass and its docstrings, where a row's newest version has no file yet, or has one that
disagrees with the dataclass and isn't released. A released file is the truth: nobody writes it again but to improve
its documentation by hand. For anything else, raise the version in `schemas/catalog.py` first.
"""

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from interlock.schemas.avro import Definition, is_union, parse
from interlock.schemas.catalog import NESTED, STORED, Row, full_names, schema_path
from interlock.schemas.derive import derive
from interlock.schemas.ledger import read_ledger
from interlock.schemas.shape import shape

LINE_CHARACTERS_MAX = 120


def main() -> int:
    """Writes what is missing and says so."""
    for path in draft(STORED, NESTED, Path(__file__).parent):
        print(f"drafted schemas/{path}: read it, improve it, commit it")
    return 0


def draft(rows: Sequence[Row], nested: Mapping[str, type], root: Path) -> list[str]:
    """Writes the drafts and returns their paths below `root`, which holds the ledger. Raises `InvalidSchema`."""
    names = full_names(rows, nested)
    classes = {name: cls for cls, name in names.items()}
    ledger = read_ledger(root)
    written: list[str] = []
    for row in rows:
        path = root / schema_path(row.name, row.version)
        released = str(row.version) in ledger.get(row.name, {})
        derived = derive(row.type, names)
        if path.exists() and (released or shape(parse(path.read_text("utf-8"), str(path))) == shape(derived)):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_json(documented(derived, classes), 0) + "\n", "utf-8")
        written.append(schema_path(row.name, row.version))
    return written


def documented(schema: Definition, classes: dict[str, type]) -> Definition:
    """The schema with the docstrings of its classes and fields as documentation."""
    cls = classes[f"{schema['namespace']}.{schema['name']}"]
    docs, hints = field_docs(cls), get_type_hints(cls)
    fields: list[Definition] = []
    for field in schema["fields"]:
        doc = " ".join(part for part in (docs.get(field["name"]), _choices(hints[field["name"]])) if part)
        found = {"name": field["name"], "type": _documented_type(field["type"], classes)}
        fields.append(
            found | ({"doc": doc} if doc else {}) | ({"default": field["default"]} if "default" in field else {})
        )
    head = {key: schema[key] for key in ("type", "name", "namespace")}
    return head | {"doc": _one_line(cls.__doc__ or ""), "fields": fields}


def field_docs(cls: type) -> dict[str, str]:
    """Field → the string literal below it, which Python itself doesn't keep."""
    body = ast.parse(inspect.getsource(cls)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            found[field.target.id] = _one_line(str(ast.literal_eval(text.value)))
    return found


def _documented_type(found: Any, classes: dict[str, type]) -> object:
    if is_union(found):
        return [_documented_type(branch, classes) for branch in found]
    match found:
        case {"type": "record"}:
            return documented(found, classes)
        case {"type": "array", "items": items}:
            return {"type": "array", "items": _documented_type(items, classes)}
        case _:
            return found


def _json(value: Any, indent: int) -> str:
    """JSON with what fits into a line on one, so that most fields take one."""
    line = json.dumps(value, ensure_ascii=False)
    if line[0] not in "[{" or (indent + len(line) < LINE_CHARACTERS_MAX and '"fields"' not in line):
        return line
    pad = " " * (indent + 2)
    if is_union(value):
        return "[\n" + ",\n".join(pad + _json(item, indent + 2) for item in value) + "\n" + " " * indent + "]"
    members = (f"{pad}{json.dumps(key)}: {_json(item, indent + 2)}" for key, item in value.items())
    return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"


def _choices(hint: object) -> str:
    return f"One of: {', '.join(get_args(hint))}." if get_origin(hint) is Literal else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
