"""Writes the schemas that the catalogue asks for and that don't exist yet: `python -m interlock.schemas.draft`.

A draft is made of the dataclass and its docstrings. From then on the file is the truth and nobody writes it again:
improve its documentation by hand, and make a new version for anything else.
"""

import ast
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from interlock.schemas.avro import Definition
from interlock.schemas.catalog import NAMESPACE, NESTED, STORED, Row, schema_path
from interlock.schemas.derive import derive


def main() -> int:
    """Writes what is missing and says so."""
    for path in draft(STORED, Path(__file__).parent):
        print(f"drafted schemas/{path}: read it, improve it, commit it")
    return 0


def draft(rows: Sequence[Row], root: Path) -> list[str]:
    """Writes the newest version's file of each row where there is none; returns the paths below `root`."""
    types = {row.type: NAMESPACE + row.name for row in rows} | {cls: NAMESPACE + name for name, cls in NESTED.items()}
    classes = {name: cls for cls, name in types.items()}
    written: list[str] = []
    for row in rows:
        path = root / schema_path(row.name, row.version)
        if not path.exists():
            document = documented(derive(row.type, types), classes)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
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


def _documented_type(found: object, classes: dict[str, type]) -> object:
    if isinstance(found, list):
        return [_documented_type(branch, classes) for branch in found]
    if isinstance(found, dict) and found["type"] == "record":
        return documented(found, classes)
    if isinstance(found, dict) and found["type"] == "array":
        return found | {"items": _documented_type(found["items"], classes)}
    return found


def _choices(hint: object) -> str:
    return f"One of: {', '.join(get_args(hint))}." if get_origin(hint) is Literal else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
