"""The text of state: what a process keeps of a fold, derived from the dataclasses that the fold is made of.

Unlike events, state is no storage that releases share: it is a cache that can be folded again at any time. So its form
is whatever the classes say, told by a fingerprint, and nothing of it is ever read by a release with other classes.

    str, int, bool, a Literal, None → themselves · bytes → base64 · a dataclass or NamedTuple → an array of its fields
    tuple, list, set, frozenset, deque → an array · dict → an array of pairs · a union of dataclasses → [which, value]

What is frozen is never changed in place, and neither is a NamedTuple: so `copies` shares all of it, and what is left
to copy are the containers around. The text is a line of JSON for each slice of a container, so that whoever writes a
large state can do something else in between.
"""

import base64
import dataclasses
import hashlib
import json
import types
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from interlock.schemas.errors import InvalidSchema

ITEMS_MAX: Final = 128
"""Items of a container in one line."""
LINE_BYTES: Final = 64 << 10
"""Lines that grow beyond this are made of fewer items."""

_encode: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_PLAIN: Final[tuple[object, ...]] = (str, int, bool)
_ARRAYS: Final[dict[object, Callable[[Any], Any]]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    deque: deque,
}

_Change = Callable[[Any], Any]
_Feed = Generator[None, Any, Any]


class StateFormat:
    """How values of some classes are copied, written and read, in this order. Raises `InvalidSchema` for a class that
    holds what has no form."""

    def __init__(self, *roots: type) -> None:
        nodes = [_Deriving().node(root) for root in roots]
        for root, node in zip(roots, nodes, strict=True):
            if node.parts is None:
                raise InvalidSchema(f"expected a dataclass as a state, found {root}")
        self._nodes = nodes
        self.fingerprint = hashlib.sha256("\n".join(node.told for node in nodes).encode()).hexdigest()
        """Differs where classes, fields or types do."""

    def copies(self, *values: object) -> tuple[object, ...]:
        """Values that nothing changes any more, whatever becomes of the given ones; shares what can't change."""
        given = zip(self._nodes, values, strict=True)
        return tuple(value if node.copy is None else node.copy(value) for node, value in given)

    def lines(self, *values: object) -> Iterator[bytes]:
        """The text of values, line by line; they must not change meanwhile."""
        for node, value in zip(self._nodes, values, strict=True):
            for slice_ in _stream(node, value):
                yield slice_.encode("ascii") + b"\n"

    def reading(self) -> Generator[None, bytes, tuple[object, ...]]:
        """Takes the lines that `lines` gave, by `send`, and returns the values. Raises whatever it likes for others."""
        found: list[object] = []
        for node in self._nodes:
            value = yield from _feed(node)
            found.append(value)
        return tuple(found)


# ---- what a type is -------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    name: str
    node: "_Node"


class _Node(NamedTuple):
    """A type: how it is told, and what is done to its values; None where nothing has to be."""

    told: str
    lower: _Change | None = None
    lift: _Change | None = None
    copy: _Change | None = None
    parts: tuple[_Part, ...] | None = None
    """The fields of a dataclass; None for what is none."""
    mutable: bool = False
    make: _Change | None = None
    """For what is written in slices: the container of the items that were read."""
    slices: Callable[[Any], Iterator[Any]] | None = None
    """For what is written in slices: its items, lowered."""
    item: _Change | None = None
    """Lifts an item of it."""
    values: "_Node | None" = None
    """For a dict of mutable dataclasses: what they are; each is written as the root is."""
    key: "_Node | None" = None


class _Deriving:
    def __init__(self) -> None:
        self._inside: list[type] = []

    def node(self, hint: Any) -> _Node:
        if hint in _PLAIN or hint is types.NoneType:
            return _Node(hint.__name__)
        if hint is bytes:
            return _Node("bytes", _text_of_bytes, base64.b64decode)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal:
            # The very objects that the classes' own code has; also, nothing else passes.
            return _Node(f"literal{sorted(arguments)}", None, {one: one for one in arguments}.__getitem__)
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
            return _fixed([self.node(one) for one in arguments])
        if origin in _ARRAYS:
            return _array(origin, self.node(arguments[0]))
        if origin is dict:
            return _dict(self.node(arguments[0]), self.node(arguments[1]))
        if _is_record(hint):
            return self._record(hint)
        raise InvalidSchema(f"expected a type that a state can hold, found {hint}")

    def _union(self, branches: tuple[Any, ...]) -> _Node:
        some = [self.node(one) for one in branches if one is not types.NoneType]
        nullable = len(some) < len(branches)
        if len(some) > 1:
            classes = [one for one in branches if one is not types.NoneType]
            if not all(_is_record(one) for one in classes):
                raise InvalidSchema(f"expected a union of dataclasses, found {branches}")
            found = _tagged(classes, some)
        else:
            found = some[0]
        return _nullable(found) if nullable else found

    def _record(self, cls: Any) -> _Node:
        if cls in self._inside:
            raise InvalidSchema(f"expected a state that doesn't hold itself, found {cls.__name__} within")
        self._inside.append(cls)
        hints = get_type_hints(cls)
        is_tuple = not dataclasses.is_dataclass(cast("object", cls))
        names: list[str] = list(cls._fields if is_tuple else cls.__dataclass_fields__)
        parts = tuple(_Part(name, self.node(hints[name])) for name in names)
        self._inside.pop()
        told = f"{cls.__module__}.{cls.__qualname__}({', '.join(f'{part.name}: {part.node.told}' for part in parts)})"
        mutable = not is_tuple and not cls.__dataclass_params__.frozen
        return _Node(
            told,
            _lowering(parts, as_is=is_tuple),
            _lifting(cls, parts),
            _copying(cls, parts) if mutable else None,
            parts=parts,
            mutable=mutable,
            make=_making(cls, names),
        )


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and ("__dataclass_fields__" in vars(hint) or "_fields" in vars(hint))


def _nullable(node: _Node) -> _Node:
    return _Node(f"{node.told}?", _unless_none(node.lower), _unless_none(node.lift), _unless_none(node.copy))


def _unless_none(change: _Change | None) -> _Change | None:
    if change is None:
        return None

    def changed(value: Any) -> Any:
        return None if value is None else change(value)

    return changed


def _tagged(classes: list[Any], nodes: list[_Node]) -> _Node:
    if any(node.copy is not None for node in nodes):
        raise InvalidSchema(f"expected a union of frozen dataclasses, found {classes}")
    lowers: dict[Any, tuple[int, _Change]] = {
        cls: (at, _or_same(node.lower)) for at, (cls, node) in enumerate(zip(classes, nodes, strict=True))
    }
    lifts: list[_Change] = [_or_same(node.lift) for node in nodes]

    def lower(value: Any) -> Any:
        at, change = lowers[type(value)]
        return at, change(value)

    def lift(found: Any) -> Any:
        at: int = found[0]
        value: Any = found[1]
        return lifts[at](value)

    return _Node(" | ".join(node.told for node in nodes), lower, lift)


def _fixed(nodes: list[_Node]) -> _Node:
    if any(node.copy is not None for node in nodes):
        raise InvalidSchema("expected a tuple of what doesn't change, found one of what does")
    lowers, lifts = [_or_same(node.lower) for node in nodes], [_or_same(node.lift) for node in nodes]

    def lower(value: Any) -> Any:
        return [change(one) for change, one in zip(lowers, value, strict=True)]

    def lift(found: Any) -> Any:
        return tuple([change(one) for change, one in zip(lifts, found, strict=True)])

    plain, same = all(node.lower is None for node in nodes), all(node.lift is None for node in nodes)
    told = ", ".join(node.told for node in nodes)
    return _Node(f"({told})", None if plain else lower, tuple if same else lift)


def _array(kind: Any, item: _Node) -> _Node:
    unordered, frozen = kind in (set, frozenset), kind in (tuple, frozenset)
    if item.copy is not None and kind is not list and kind is not deque:
        raise InvalidSchema(f"expected a {kind.__name__} of what doesn't change, found {item.told}")
    make = _ARRAYS[kind]

    def slices(value: Any) -> Iterator[Any]:
        # Sets have no order of their own, and the same state shall give the same text.
        items = sorted(value) if unordered and item.lower is None else value
        return iter(items) if item.lower is None else map(item.lower, items)

    def lower(value: Any) -> Any:
        return list(slices(value))

    plain = item.lower is None and kind in (tuple, list)
    as_read = None if kind is list else make
    return _Node(
        f"{kind.__name__}[{item.told}]",
        None if plain else lower,
        as_read if item.lift is None else _all(make, item.lift),
        None if frozen else make if item.copy is None else _all(make, item.copy),
        make=make,
        slices=slices,
        item=item.lift,
    )


def _all(make: _Change, change: _Change) -> _Change:
    def changed(value: Any) -> Any:
        return make([change(one) for one in value])

    return changed


def _dict(key: _Node, value: _Node) -> _Node:
    lower_key, lower_value = _or_same(key.lower), _or_same(value.lower)
    lift_key, lift_value, copy_value = _or_same(key.lift), _or_same(value.lift), _or_same(value.copy)
    plain = key.lower is None and value.lower is None
    same = key.lift is None and value.lift is None

    def slices(found: Any) -> Iterator[Any]:
        return iter(found.items()) if plain else ((lower_key(k), lower_value(v)) for k, v in found.items())

    def lower(found: Any) -> Any:
        return list(slices(found))

    def lift(found: Any) -> Any:
        return {lift_key(k): lift_value(v) for k, v in found}

    def lift_pair(pair: Any) -> Any:
        return lift_key(pair[0]), lift_value(pair[1])

    def copy(found: Any) -> Any:
        return {k: copy_value(v) for k, v in found.items()}

    return _Node(
        f"dict[{key.told}, {value.told}]",
        lower,
        dict if same else lift,
        dict if value.copy is None else copy,
        make=dict,
        slices=slices,
        item=None if same else lift_pair,
        values=value if value.mutable else None,
        key=key,
    )


def _text_of_bytes(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii")


def _or_same(change: _Change | None) -> _Change:
    return change or _same


def _same(value: Any) -> Any:
    return value


# ---- records, as code made once for each, since there are many of them ----------------------------------------------


def _lowering(parts: tuple[_Part, ...], *, as_is: bool) -> _Change | None:
    if all(part.node.lower is None for part in parts):
        if as_is:
            return None
        if len(parts) > 1:
            return attrgetter(*[part.name for part in parts])
    values = {f"f{at}": part.node.lower for at, part in enumerate(parts) if part.node.lower is not None}
    fields = [f"f{at}(o.{part.name})" if f"f{at}" in values else f"o.{part.name}" for at, part in enumerate(parts)]
    return _made(f"def function(o): return ({', '.join(fields)},)", values)


def _lifting(cls: type, parts: tuple[_Part, ...]) -> _Change:
    values: dict[str, object] = {f"f{at}": part.node.lift for at, part in enumerate(parts) if part.node.lift}
    given = ", ".join(f"a{at}" for at in range(len(parts)))
    lifted = [f"f{at}(a{at})" if f"f{at}" in values else f"a{at}" for at in range(len(parts))]
    make = _making(cls, [part.name for part in parts])
    return _made(
        f"def function(row):\n    {given}{',' if parts else '()'} = row\n    return make(({', '.join(lifted)},))",
        values | {"make": make},
    )


def _copying(cls: type, parts: tuple[_Part, ...]) -> _Change:
    values: dict[str, object] = {f"f{at}": part.node.copy for at, part in enumerate(parts) if part.node.copy}
    fields = [f"f{at}(o.{part.name})" if f"f{at}" in values else f"o.{part.name}" for at, part in enumerate(parts)]
    make = _making(cls, [part.name for part in parts])
    return _made(f"def function(o): return make(({', '.join(fields)},))", values | {"make": make})


def _making(cls: type, names: list[str]) -> _Change:
    """What makes an object of its fields' values, past a constructor that takes a frozen dataclass 0.2 µs a field.

    A twin with the same slots that isn't frozen takes them, and becomes one of the class (see `schemas/compiled.py`).
    """
    if not dataclasses.is_dataclass(cls):
        return cast("_Change", cast("Any", cls)._make)
    if "__slots__" not in vars(cls) or hasattr(cls, "__post_init__"):
        raise InvalidSchema(f"expected {cls.__name__} to be a slotted dataclass without __post_init__")
    slots = {"__slots__": vars(cls)["__slots__"], "__setattr__": object.__setattr__}
    twin = type(f"_{cls.__name__}Twin", cls.__bases__, slots)
    targets = ", ".join(f"o.{name}" for name in names)
    text = f"def function(row):\n    o = new(twin)\n    {targets}, = row\n    o.__class__ = cls\n    return o"
    return _made(text, {"new": object.__new__, "twin": twin, "cls": cls})


def _made(text: str, values: dict[str, Any]) -> _Change:
    names: dict[str, Any] = {"__builtins__": {}, **values}
    exec(text, names)  # noqa: S102 - of the names of our own classes' fields, and of nothing else
    return cast("_Change", names["function"])


# ---- lines ----------------------------------------------------------------------------------------------------------


def _stream(node: _Node, value: Any) -> Iterator[str]:
    for part in node.parts or ():
        held, inner = getattr(value, part.name), part.node
        if inner.mutable and inner.parts is not None:
            yield from _stream(inner, held)
        elif inner.values is not None and inner.key is not None:
            yield _encode(len(held))
            lower = _or_same(inner.key.lower)
            for key, each in held.items():
                yield _encode(lower(key))
                yield from _stream(inner.values, each)
        elif inner.slices is not None:
            yield _encode(len(held))
            yield from _slices(inner.slices(held))
        else:
            yield _encode(held if inner.lower is None else inner.lower(held))


def _slices(items: Iterator[Any]) -> Iterator[str]:
    size = 8
    while slice_ := list(islice(items, size)):
        line = _encode(slice_)
        yield line
        size = max(1, size // 2) if len(line) > LINE_BYTES else min(ITEMS_MAX, size * 2)


def _feed(node: _Node) -> _Feed:
    assert node.make is not None, "expected a dataclass"
    found: list[Any] = []
    for part in node.parts or ():
        inner = part.node
        if inner.mutable and inner.parts is not None:
            found.append((yield from _feed(inner)))
        elif inner.values is not None and inner.key is not None:
            lift, held = _or_same(inner.key.lift), dict[Any, Any]()
            for _ in range(json.loads((yield))):
                key = lift(json.loads((yield)))
                held[key] = yield from _feed(inner.values)
            found.append(held)
        elif inner.slices is not None and inner.make is not None:
            items: list[Any] = []
            count = json.loads((yield))
            while len(items) < count:
                slice_ = json.loads((yield))
                items += slice_ if inner.item is None else map(inner.item, slice_)
            found.append(inner.make(items))
        else:
            line = json.loads((yield))
            found.append(line if inner.lift is None else inner.lift(line))
    return node.make(found)
