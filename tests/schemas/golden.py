"""Records as they were written, one file for each version of each stored type: `golden/<name>.v<N>.golden`.

Each file holds two samples, a full and a sparse one: a line of hexadecimal digits, then a line with the object that
must be read from them today. `python -m tests.schemas.golden` writes what is missing, and anew what isn't released
yet and was written with another schema. The digits of a released version never change; where a later version lifts
them to another object, its line is corrected by hand.
"""

import dataclasses
import types
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from interlock.schemas.catalog import Schema, catalog
from interlock.schemas.codec import AvroCodec
from interlock.schemas.ledger import read_ledger

FOLDER = Path(__file__).with_name("golden")


def golden_path(schema: Schema) -> Path:
    """Where the records of a version are kept."""
    return FOLDER / f"{schema.name}.v{schema.version}.golden"


def read_golden(path: Path) -> list[tuple[bytes, str]]:
    """Each record with the text of the object that it must be read as."""
    lines = path.read_text("utf-8").splitlines()
    return [(bytes.fromhex(line), text) for line, text in zip(lines[::2], lines[1::2], strict=True)]


def sample(hint: Any, name: str, full: bool) -> Any:
    """A value of a type; a full one has everything that may be absent, and texts beyond ASCII."""
    if hint is str:
        return f"{name} · {len(name)}" if full else ""
    if hint is int:
        return 1_780_000_000_123 + len(name) if name.endswith("_ms") else len(name) if full else -1
    if hint is bool:
        return full
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{field: sample(found, field, full) for field, found in hints.items()})
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return arguments[0 if full else -1]
    if get_origin(hint) in (Union, types.UnionType):
        return sample(arguments[0], name, full) if full or types.NoneType not in arguments else None
    return _sequence(arguments[0], name, full)


def _sequence(item: Any, name: str, full: bool) -> tuple[Any, ...]:
    if not full:
        return ()
    if get_origin(item) is tuple:
        return tuple((f"{name}/{number}", number) for number in (0, 70, 9_000))
    branches = get_args(item) if get_origin(item) in (Union, types.UnionType) else (item,)
    return tuple(sample(branch, name, full) for branch in branches for full in (True, False))


def main() -> None:
    """Writes the files that are missing, or that hold records of a schema that was never released."""
    codec, ledger = AvroCodec(), read_ledger(files("interlock.schemas"))
    for row in catalog().rows.values():
        schema = catalog().newest(row.name)
        path = golden_path(schema)
        if path.exists() and (
            str(schema.version) in ledger.get(row.name, {}) or read_golden(path)[0][0][2:10] == schema.fingerprint
        ):
            continue
        samples = [sample(row.type, row.name, full) for full in (True, False)]
        path.write_text("".join(f"{codec.encode(one).hex()}\n{one!r}\n" for one in samples), "utf-8")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
