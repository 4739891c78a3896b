"""Refusals are data: a kind, a sentence and the ids; exceptions mean that the program is wrong.

The sentence says what was expected, what was found, and where it helps what to do: "Expected …, found …; …".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

FAULTS_MAX: Final = 20
"""Things that are wrong which are told one by one; who mends these is told the next ones."""
TOLD_WHERE: Final = "`faults` has them all; with --json"
"""What a sentence says that names only the first of several faults."""
FAULT_CHARACTERS_MAX: Final = 300
"""Of each text of a fault: it is a pointer to what somebody wrote, not a copy of it."""

RefusalKind = Literal["invalid", "not-found", "conflict", "superseded", "state", "too-large", "unserved"]
"""invalid: the request itself is wrong · not-found: it names what isn't there · conflict: another one has it ·
superseded: it lost a compare-and-swap · state: not now · too-large: over a limit · unserved: nobody here can do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with what was asked, as data."""

    code: str
    """What kind of fault, in a word that never changes, such as "missing-field"."""
    where: str
    """Its place, such as `steps[1].wait.timeout` or a node's id; "" for the whole."""
    expected: str
    found: str


def fault(code: str, where: str, expected: str, found: str) -> Fault:
    """A fault whose texts are within their bound."""
    return Fault(code=code, where=_cut(where), expected=_cut(expected), found=_cut(found))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is turned down; nothing has changed."""

    kind: RefusalKind
    sentence: str
    details: tuple[tuple[str, str], ...] = field(default=())
    """Names and ids that a program may act on, such as the claimant of a conflict."""
    faults: tuple[Fault, ...] = field(default=())
    """What is wrong, one by one, where there is more to say than the sentence; at most `FAULTS_MAX`."""


def of_fault(kind: RefusalKind, sentence: str, code: str, where: str, expected: str, found: str) -> Refusal:
    """A refusal for one fault."""
    return Refusal(kind, sentence, faults=(fault(code, where, expected, found),))


def joined(refusals: Sequence[Refusal]) -> Refusal | None:
    """One refusal for several: the first one's kind and sentence, and the faults of all. None for none."""
    if not refusals:
        return None
    first, *others = refusals
    sentence = first.sentence
    if others:
        sentence += f" More faults like this: {len(others)} ({TOLD_WHERE})."
    faults = tuple(each for refusal in refusals for each in refusal.faults)
    return replace(first, sentence=sentence, faults=faults[:FAULTS_MAX])


def bounded(text: str, characters_max: int) -> str:
    """A text that may be recorded: one that quotes others may hold what no record can, and be of any length."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= characters_max else f"{text[: characters_max - 1]}…"


def _cut(text: str) -> str:
    return bounded(text, FAULT_CHARACTERS_MAX)
