"""Writers and readers of records, as code generated once for each record type.

This is the engine's hottest code: each event and message passes it on every hop. Going by way of dictionaries costs
several times what the bytes themselves cost, so a function is made from schema and class together, which touches
neither a dictionary nor a schema when it runs. `tests/schemas/test_wire.py` shows that fastavro reads what is written
here and that what fastavro writes is read here.

What would surprise: an object that is read isn't made by its constructor, which takes a frozen dataclass 0.2 µs a
field. A twin, a class of the same slots that isn't frozen, takes the fields, and then becomes one of the stored class.
That is sound because stored classes have slots, no base and no `__post_init__` (`_twin` refuses others), and because
what is read was constructed once before it was written.
"""

import keyword
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from interlock.schemas import wire
from interlock.schemas.avro import Definition, is_union
from interlock.schemas.errors import InvalidSchema
from interlock.schemas.wire import Reader, Writer

Codecs = tuple[type, Writer, Reader]
"""The class of a value, what writes it and what reads it."""


class Compiler:
    """Makes writers and readers of record schemas. Raises `InvalidSchema` for what no stored class can hold."""

    def __init__(self, types: Mapping[str, type]) -> None:
        """`types`: full Avro name → class, of every record that may occur."""
        self._types = types

    def writer(self, schema: Definition, head: bytes) -> Writer:
        """What writes objects of a record's class, with `head` before each."""
        return _writer(self._fields(schema, schema["namespace"], dict(wire.PRIMITIVES)), head)

    def reader(self, schema: Definition) -> Reader:
        """What reads such objects, whoever wrote them."""
        return self._record(schema, schema["namespace"], dict(wire.PRIMITIVES))[2]

    def _record(self, schema: Definition, namespace: str, known: dict[str, Codecs]) -> Codecs:
        namespace = schema.get("namespace", namespace)
        name = f"{namespace}.{schema['name']}"
        if name not in self._types:
            raise InvalidSchema(f"expected a class for {name} in schemas/catalog.py, found none")
        fields = self._fields(schema, namespace, known)
        known[name] = self._types[name], _writer(fields, b""), _reader(fields, self._types[name])
        return known[name]

    def _fields(self, schema: Definition, namespace: str, known: dict[str, Codecs]) -> "list[_Field]":
        return [
            _Field(field["name"], field["type"], self._value(field["type"], namespace, known))
            for field in schema["fields"]
        ]

    def _value(self, schema: Any, namespace: str, known: dict[str, Codecs]) -> Codecs:
        if isinstance(schema, str):
            name = schema if schema in known else f"{namespace}.{schema}"
            if name not in known:
                raise InvalidSchema(f"expected a type that a record may hold, found {schema!r}")
            return known[name]
        if is_union(schema):
            branches = [self._value(branch, namespace, known) for branch in schema]
            write = wire.union_writer([(cls, write) for cls, write, _ in branches])
            return object, write, wire.union_reader([read for _, _, read in branches])
        if schema["type"] == "record":
            return self._record(schema, namespace, known)
        if schema["type"] == "array":
            _, write, read = self._value(schema["items"], namespace, known)
            return tuple, wire.array_writer(write), wire.array_reader(read)
        if schema["type"] == "map":
            _, write, read = self._value(schema["values"], namespace, known)
            return tuple, wire.array_writer(wire.pair_writer(write)), wire.array_reader(wire.pair_reader(read))
        raise InvalidSchema(f"expected a type that a record may hold, found {schema!r}")


class _Field(NamedTuple):
    name: str
    schema: Any
    codecs: Codecs

    @property
    def nullable(self) -> bool:
        """Whether it is a union whose first branch is null."""
        return is_union(self.schema) and self.schema[0] == "null"


class _Function:
    """A function that is being written: its lines, and the values that they name."""

    def __init__(self, signature: str) -> None:
        self._lines = [f"def function({signature}):"]
        self._values: dict[str, object] = {"__builtins__": {"len": len}}

    def name(self, value: object) -> str:
        """A name for a value that isn't one of the function's own."""
        name = f"g{len(self._values)}"
        self._values[name] = value
        return name

    def lines(self, text: str) -> None:
        """Adds lines to the body."""
        self._lines += ["    " + line for line in text.split("\n")]

    def made(self) -> Any:
        """The function. Nothing foreign is in its text: the names of fields are all it takes from a schema."""
        exec("\n".join(self._lines), self._values)  # noqa: S102 - see above
        return self._values["function"]


def _writer(fields: Sequence[_Field], head: bytes) -> Writer:
    function = _Function("o")
    join, sizes = function.name(b"".join), function.name(wire.SIZES)
    pieces = [function.name(head)] if head else []
    for number, field in enumerate(fields):
        value = f"o.{_identifier(field.name)}"
        if field.schema == "string":
            # The commonest by far, so it is written out instead of called.
            function.lines(f"b{number} = {value}.encode()")
            pieces += [f"{sizes}[len(b{number})]", f"b{number}"]
            continue
        call = f"{function.name(field.codecs[1])}({value})"
        if field.nullable:
            call = f"{function.name(wire.SIZES[0])} if {value} is None else {call}"
        pieces.append(call)
    function.lines(f"return {join}(({', '.join(pieces)},))")
    return cast(Writer, function.made())


def _reader(fields: Sequence[_Field], cls: type) -> Reader:
    function = _Function("d, j")
    new, twin = function.name(object.__new__), function.name(_twin(cls, [field.name for field in fields]))
    size = function.name(wire.read_size)
    function.lines(f"o = {new}({twin})")
    for field in fields:
        target = f"o.{_identifier(field.name)}"
        call = f"{target}, j = {function.name(field.codecs[2])}(d, j)"
        if field.schema == "string":
            # A length below 64 is one even byte below 128.
            function.lines(
                f"n = d[j]\nif n & 129:\n    n, i = {size}(d, j)\nelse:\n    n >>= 1\n    i = j + 1\n"
                f"j = i + n\n{target} = d[i:j].decode()"
            )
        elif field.schema == "long":
            function.lines(f"n = d[j]\nif n < 128:\n    {target} = (n >> 1) ^ -(n & 1)\n    j += 1\nelse:\n    {call}")
        elif field.nullable:
            function.lines(f"if d[j]:\n    {call}\nelse:\n    {target} = None\n    j += 1")
        else:
            function.lines(call)
    function.lines(f"o.__class__ = {function.name(cls)}\nreturn o, j")
    return cast(Reader, function.made())


def _identifier(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidSchema(f"expected the name of a field, found {name!r}")
    return name


def _twin(cls: type, names: Sequence[str]) -> type:
    """A class with the slots of a stored class, which can become one of it and isn't frozen."""
    found = list(getattr(cls, "__dataclass_fields__", ()))
    if found != list(names):
        raise InvalidSchema(f"expected {cls.__name__} to have the fields {list(names)} of its schema, found {found}")
    if cls.__bases__ != (object,) or "__slots__" not in vars(cls) or hasattr(cls, "__post_init__"):
        raise InvalidSchema(f"expected {cls.__name__} to be a slotted dataclass without base and without __post_init__")
    return type(f"_{cls.__name__}Twin", (), {"__slots__": tuple(names)})
