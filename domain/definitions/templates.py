"""Templates of HTTP paths: what one may look like, and when two of them are the same (RTE-02).

    /orders            literal segments
    /orders/:id        a parameter: one whole segment, whatever it is
    /files/*           a wildcard, at the end only: one segment or more; `*rest` gives it a name

Two templates are the same if they differ in the names of parameters and wildcards alone: `shape` drops these. Literals
are compared as they stand; what browsers and proxies rewrite on the way (`%41`, `..`, `//`) can't be part of one.
"""

import re
from dataclasses import dataclass
from typing import Final

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The methods of HTTP that an endpoint may have, in the order in which they are told."""
TEMPLATE_CHARACTERS_MAX: Final = 180
"""Of a template: with its method before it, it is a name (`names.NAME_LENGTH_MAX`)."""

_LITERAL: Final = re.compile(r"[A-Za-z0-9._~!$&'()+,;=@-]+")
"""What RFC 3986 lets stand in a segment as it is, without `:` and `*`, which have a meaning at its beginning."""
_NAMED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED: Final = re.compile(r"[{<](?:[a-z]+:)?([A-Za-z_][A-Za-z0-9_]*)[}>]")
"""How other routers write a parameter."""


@dataclass(frozen=True, slots=True)
class TemplateFault:
    """What is wrong with a template."""

    expected: str
    found: str


def shape(template: str) -> str | TemplateFault:
    """What a template matches, in words that two share exactly if they match the same: `/a/:` and `/a/*`."""
    if not template.startswith("/"):
        return TemplateFault("a path that begins with /, such as /orders/:id", repr(template[:100]))
    if len(template) > TEMPLATE_CHARACTERS_MAX:
        return TemplateFault(f"a path of at most {TEMPLATE_CHARACTERS_MAX} characters", str(len(template)))
    if template == "/":
        return "/"
    segments = template[1:].split("/")
    names: set[str] = set()
    shapes: list[str] = []
    for position, segment in enumerate(segments):
        found = _segment(segment, template, names, last=position == len(segments) - 1)
        if isinstance(found, TemplateFault):
            return found
        shapes.append(found)
    return f"/{'/'.join(shapes)}"


def _segment(segment: str, template: str, names: set[str], *, last: bool) -> str | TemplateFault:
    """The shape of one segment; notes the name that it gives."""
    if not segment:
        return TemplateFault("segments that are not empty (no // and no / at the end)", repr(template))
    if segment in (".", ".."):
        return TemplateFault("segments that clients leave as they are", f"{segment!r} in {template!r}")
    if segment[0] not in ":*":
        return segment if _LITERAL.fullmatch(segment) else _odd_literal(segment, template)
    kind, name = segment[0], segment[1:]
    if kind == "*" and not last:
        return TemplateFault("a wildcard at the end of the path only", f"{segment!r} within {template!r}")
    if not (_NAMED.fullmatch(name) or (kind == "*" and not name)):
        expected = "a parameter as : and a name of letters, digits and _, such as :id"
        return TemplateFault(expected, f"{segment!r} in {template!r}")
    if name and name in names:
        return TemplateFault("each name once in a path", f"{name!r} twice in {template!r}")
    names.add(name)
    return kind


def _odd_literal(segment: str, template: str) -> TemplateFault:
    if braced := _BRACED.fullmatch(segment):
        return TemplateFault(f"a parameter as :{braced[1]}", f"{segment!r} in {template!r}")
    return TemplateFault("segments of letters, digits and -._~!$&'()+,;=@", f"{segment!a} in {template!a}")
