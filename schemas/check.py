"""Holds domain, schemas and history together: `python -m interlock.schemas.check` (LOG-03, LOG-04).

It fails where

- an event or a message has no row in the catalogue, or a row has no schema;
- a schema disagrees with its dataclass: a field missing, too many, in another order, of another type or default;
- a released version has changed, or is gone; or a choice of its dataclass's `Literal` is none any more;
- an older version can be read neither by Avro's rules as the next one, nor by an upcaster.

`--release` writes what is not released yet into `released.json`, once everything else holds: a step of each release.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from interlock.schemas.catalog import NESTED, STORED, Catalog, Row, Schema, full_names, schema_path
from interlock.schemas.choices import Choices, choices
from interlock.schemas.derive import derive
from interlock.schemas.errors import InvalidSchema
from interlock.schemas.evolution import obstacles
from interlock.schemas.inventory import record_modules, stored_types
from interlock.schemas.ledger import LEDGER, Ledger, bare, read_ledger, written_ledger
from interlock.schemas.shape import Field, shape
from interlock.schemas.upcasters import UPCASTERS, Upcaster


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is checked; the defaults are this release's."""

    root: Traversable
    """The folder with the schemas and the ledger."""
    rows: Sequence[Row] = STORED
    nested: Mapping[str, type]
    upcasters: Mapping[tuple[str, int], Upcaster]
    modules: Sequence[ModuleType]
    """The modules whose dataclasses are records."""


def main(arguments: Sequence[str]) -> int:
    """Says what is wrong and returns 1, or what was found in order and returns 0; 2 for arguments that are none."""
    if list(arguments) not in ([], ["--release"]):
        print(f"expected nothing or --release, found {' '.join(arguments)}", file=sys.stderr)
        return 2
    root = files("interlock.schemas")
    checked = Checked(root=root, nested=NESTED, upcasters=UPCASTERS, modules=record_modules())
    found = faults(checked)
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        print(f"schemas: {len(found)} faults; schemas/catalog.py says how to make a new version", file=sys.stderr)
        return 1
    catalog = Catalog(checked.rows, checked.nested, root)
    if arguments:
        Path(__file__).with_name(LEDGER).write_text(written_ledger(released(catalog, read_ledger(root))), "utf-8")
    ledger = read_ledger(root)
    schemas = sum(row.version for row in checked.rows)
    print(f"schemas: {len(checked.rows)} types, {schemas} schemas, {sum(map(len, ledger.values()))} of them released")
    return 0


def faults(checked: Checked) -> list[str]:
    """Everything that is wrong, a sentence each."""
    found = [*_uncatalogued(checked), *_strangers(checked)]
    try:
        ledger = read_ledger(checked.root)
    except InvalidSchema as error:
        ledger = {}
        found.append(str(error))
    gone = sorted(ledger.keys() - {row.name for row in checked.rows})
    found += [f"schemas/catalog.py: expected a row for {name}, which was released; found none" for name in gone]
    names = full_names(checked.rows, checked.nested)
    for row in checked.rows:
        try:
            versions = Catalog([row], checked.nested, checked.root).versions(row.name)
            found += _disagreements(versions[-1], row.type, names)
            found += _broken_steps(versions, checked.upcasters)
        except InvalidSchema as error:
            found.append(str(error))
            continue
        entries = ledger.get(row.name, {})
        found += _changed(versions, entries)
        found += _lost_choices(versions, entries, choices(row.type, names), checked.upcasters)
    return found


def released(catalog: Catalog, ledger: Ledger) -> Ledger:
    """The ledger with every schema of the catalogue; what stands in it already stays as it is."""
    found = dict(ledger)
    names = {cls: name for name, cls in catalog.types.items()}
    for name in catalog.rows:
        entries = {
            str(schema.version): {"fingerprint": schema.fingerprint.hex(), "schema": bare(schema.definition)}
            for schema in catalog.versions(name)
        }
        # Of older versions nobody knows any more what their dataclasses said.
        entries[str(catalog.newest(name).version)]["choices"] = choices(catalog.rows[name].type, names)
        found[name] = entries | ledger.get(name, {})
    return found


def _uncatalogued(checked: Checked) -> Iterator[str]:
    rows = {row.type for row in checked.rows}
    nested = set(checked.nested.values())
    for module in checked.modules:
        try:
            stored, others = stored_types(module)
        except InvalidSchema as error:
            yield str(error)
            continue
        for cls in stored:
            if cls not in rows:
                yield f"{module.__name__}.{cls.__name__}: expected a row in STORED of schemas/catalog.py, found none"
        for cls in others:
            if cls not in rows | nested:
                yield (
                    f"{module.__name__}.{cls.__name__}: expected it in the module's union and in STORED of"
                    " schemas/catalog.py, or in NESTED if it only occurs within others; found it in neither"
                )


def _strangers(checked: Checked) -> Iterator[str]:
    """Names that occur twice, files that no row asks for, upcasters that lead nowhere."""
    versions = {(row.name, version) for row in checked.rows for version in range(1, row.version + 1)}
    if len({row.name for row in checked.rows}) < len(checked.rows):
        yield "schemas/catalog.py: expected each name once in STORED, found one twice"
    paths = {schema_path(name, version) for name, version in versions}
    for path in sorted(set(_schema_files(checked.root, "")) - paths):
        yield f"schemas/{path}: expected a row of schemas/catalog.py that asks for it, found none"
    for name, version in checked.upcasters:
        if (name, version + 1) not in versions:
            yield f"schemas/upcasters.py: expected {name} to have a version {version + 1}, found none"


def _schema_files(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _schema_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".avsc"):
            yield prefix + entry.name


def _disagreements(schema: Schema, cls: type, names: Mapping[type, str]) -> Iterator[str]:
    """Where the newest schema says something else than the dataclass."""
    where = f"schemas/{schema_path(schema.name, schema.version)}"
    expected, found = shape(derive(cls, names)), shape(schema.definition)
    for name in expected.records.keys() - found.records.keys():
        yield f"{where}: expected a record {name}, as {cls.__name__} holds one; found none"
    for name in found.records.keys() - expected.records.keys():
        yield f"{where}: expected no record {name}, since {cls.__name__} holds none; found one"
    for name in expected.records.keys() & found.records.keys():
        for difference in _field_differences(expected.records[name], found.records[name]):
            yield f"{where}: {name}{difference}"


def _field_differences(expected: Sequence[Field], found: Sequence[Field]) -> Iterator[str]:
    wanted, had = {field.name: field for field in expected}, {field.name: field for field in found}
    for name in [name for name in wanted if name not in had]:
        yield f".{name}: expected this field of the dataclass, found none in the schema"
    for name in [name for name in had if name not in wanted]:
        yield f".{name}: expected no such field, since the dataclass has none; found one in the schema"
    if wanted.keys() == had.keys() and list(wanted) != list(had):
        yield f": expected the fields in the order {list(wanted)}, found {list(had)}"
    for name in [name for name in wanted if name in had]:
        if wanted[name].type != had[name].type:
            yield f".{name}: expected type {_text(wanted[name].type)}, found {_text(had[name].type)}"
        if _text(wanted[name].default) != _text(had[name].default):
            yield f".{name}: expected default {_text(wanted[name].default)}, found {_text(had[name].default)}"


def _broken_steps(versions: Sequence[Schema], upcasters: Mapping[tuple[str, int], Upcaster]) -> Iterator[str]:
    """Where a version can't be read as the next."""
    for older, newer in pairwise(versions):
        if older.fingerprint == newer.fingerprint:
            yield f"{older.name}: expected v{newer.version} to differ from v{older.version}, found the same schema"
        if (older.name, older.version) not in upcasters:
            for obstacle in obstacles(older.definition, newer.definition):
                yield (
                    f"{older.name}: expected v{older.version} to be readable as v{newer.version}, or an upcaster for"
                    f" it in schemas/upcasters.py; found {obstacle}"
                )


def _changed(versions: Sequence[Schema], entries: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Where a schema isn't what was released as it."""
    for version, entry in entries.items():
        if int(version) > len(versions):
            yield f"{versions[0].name}: expected the released v{version} in the catalogue, found only v{len(versions)}"
        elif bare(versions[int(version) - 1].definition) != entry["schema"]:
            yield (
                f"schemas/{schema_path(versions[0].name, int(version))}: expected it as it was released, found it"
                f" changed; take the change back, and make a version {len(versions) + 1}"
            )


def _lost_choices(
    versions: Sequence[Schema],
    entries: Mapping[str, Mapping[str, Any]],
    now: Choices,
    upcasters: Mapping[tuple[str, int], Upcaster],
) -> Iterator[str]:
    """Texts that a released version could hold, and that today's dataclass doesn't know."""
    name = versions[0].name
    for version, entry in entries.items():
        if any((name, step) in upcasters for step in range(int(version), len(versions))):
            continue  # what it makes of them is its own business
        for field, texts in entry.get("choices", {}).items():
            for text in texts if field in now else ():
                if text not in now[field]:
                    yield (
                        f"{name}: expected {field} to know {text!r}, as records of the released v{version} may hold it;"
                        f" found only {now[field]}; put the choice back, or use another field for what replaces it"
                    )


def _text(value: object) -> str:
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
