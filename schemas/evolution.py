"""Whether records of one schema can be read as another: Avro's rules of schema resolution, as far as they are used."""

from typing import Any

from interlock.schemas.avro import Definition, is_union
from interlock.schemas.shape import Field, Shape, shape

_PROMOTIONS = frozenset(
    {
        ("int", "long"),
        ("int", "float"),
        ("int", "double"),
        ("long", "float"),
        ("long", "double"),
        ("float", "double"),
        ("string", "bytes"),
        ("bytes", "string"),
    }
)


def obstacles(writer: Definition, reader: Definition) -> list[str]:
    """Why some record of `writer` can't be read as `reader`; empty if every one can."""
    found = _Resolution(shape(writer), shape(reader))
    return found.type(found.writer.root, found.reader.root, found.writer.root)


class _Resolution:
    def __init__(self, writer: Shape, reader: Shape) -> None:
        self.writer = writer
        self.reader = reader
        self._seen: set[str] = set()

    def type(self, writer: Any, reader: Any, where: str) -> list[str]:
        """The obstacles between two types at one place."""
        if is_union(writer):
            return [obstacle for branch in writer for obstacle in self.type(branch, reader, where)]
        if is_union(reader):
            tries = [self.type(writer, branch, where) for branch in reader if _alike(writer, branch)]
            return min(tries, key=len, default=[f"{where}: expected one of {reader}, found {writer}"])
        if not _alike(writer, reader):
            return [f"{where}: expected {reader}, found {writer}"]
        if isinstance(writer, dict):
            key = "items" if writer["type"] == "array" else "values"
            return self.type(writer[key], reader[key], f"{where}[]")
        return self._record(writer) if writer in self.writer.records else []

    def _record(self, name: str) -> list[str]:
        if name in self._seen:
            return []
        self._seen.add(name)
        written = {field.name: field for field in self.writer.records[name]}
        return [obstacle for field in self.reader.records[name] for obstacle in self._field(field, written, f"{name}.")]

    def _field(self, field: Field, written: dict[str, Field], where: str) -> list[str]:
        source = next((written[name] for name in (field.name, *field.aliases) if name in written), None)
        if source is not None:
            return self.type(source.type, field.type, where + field.name)
        return [] if field.default else [f"{where}{field.name}: expected a default, since older records don't have it"]


def _alike(writer: Any, reader: Any) -> bool:
    """Whether two types that are no unions may be resolved, before anything within them is looked at."""
    if isinstance(writer, str) and isinstance(reader, str):
        return writer == reader or (writer, reader) in _PROMOTIONS
    if isinstance(writer, str) or isinstance(reader, str):
        return False
    return bool(writer["type"] == reader["type"])
