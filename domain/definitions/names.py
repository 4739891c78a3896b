"""What may be a name: of a definition, a slot, an event, an activity, and the stricter ones of nodes.

Names end in keys, in UTF-8 records and on screens, so they hold no control characters, no lone surrogates and no
blanks at their ends. Every function gives the sentence that says what is wrong, or None.
"""

import re
import unicodedata
from typing import Final

NAME_LENGTH_MAX: Final = 200
"""Characters. A name is a key of many records; what needs more is a description."""
CLAIM_LENGTH_MAX: Final = 2 * NAME_LENGTH_MAX
"""Characters. A claim is a name behind what its provider puts before it."""

_NODE_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_SOURCE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}(\.[A-Za-z0-9_$-]{1,100}){0,20}")
_UNPRINTABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories: control characters, lone surrogates, line and paragraph separators. Characters that are not
assigned yet are let through, or hosts with another version of the table would compile differently."""
INPUT: Final = "input"
"""The source that names the starting stimulus' payload; no node may be called so."""


def name_fault(text: str, length_max: int = NAME_LENGTH_MAX) -> str | None:
    """Why a text can't be a name; None if it can."""
    if not text.strip():
        return "expected a name, found a blank one"
    if len(text) > length_max:
        return f"expected a name of at most {length_max} characters, found {len(text)}"
    if text != text.strip():
        return f"expected a name without blanks at its ends, found {text!r}"
    # Python's own word for printable is narrower, and said in C: what it lets pass needs no look at each character.
    if not text.isprintable() and any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        return f"expected a name of printable characters, found {text!a}"
    return None


def definition_fault(text: str) -> str | None:
    """Why a text can't be the name of a definition; None if it can. It is a part of addresses, so it must not lead
    elsewhere; it may have parts, as `billing/invoices` has."""
    if text in (".", ".."):
        return f"expected a name that is not '.' or '..', found {text!r}"
    return name_fault(text)


def slot_fault(text: str) -> str | None:
    """Why a text can't be the name of a slot; None if it can. What stands behind the last '/' of a definition and its
    slot is the slot."""
    if "/" in text:
        return f"expected a name without '/', found {text[:120]!a}"
    return definition_fault(text)


def node_id_fault(text: str) -> str | None:
    """Why a text can't be the id of a step; None if it can."""
    if text == INPUT:
        return f'expected a step\'s id, found "{INPUT}", which names the starting payload'
    if not _NODE_ID.fullmatch(text):
        return f"expected a step's id of at most 100 letters, digits, - and _ not led by a digit, found {text[:120]!a}"
    return None


def source_fault(text: str) -> str | None:
    """Why a text can't be a source; None if it can. Whether what it names exists is the compiler's question."""
    if not _SOURCE.fullmatch(text):
        return f'expected "input" or the id of a step, then a dotted path, found {text[:120]!a}'
    return None
