"""What nothing in the program does to a replica, or to the rows of a view: somebody's hand, or memory that has changed.

It reaches behind the public names on purpose; there is no other way to make what reconciliation is for.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from interlock.domain.publishing.authority import AuthoritativeBinding, Authority

Held = dict[str, tuple[AuthoritativeBinding, ...]]
Found = dict[tuple[str, str], tuple[AuthoritativeBinding, ...]]


def lose(authority: Authority) -> None:
    """Loses every binding of a replica."""
    _held(authority).clear()
    _found(authority).clear()


def show(authority: Authority, shell: str, publication_id: str) -> None:
    """Shows the bindings of a candidate, in the place of what was there."""
    for binding in _held(authority)[publication_id]:
        _found(authority)[(shell, binding.identity)] = (binding,)


def add(authority: Authority, shell: str, binding: AuthoritativeBinding) -> None:
    """Shows a binding that nobody asked for."""
    key = (shell, binding.identity)
    _found(authority)[key] = (*_found(authority).get(key, ()), binding)


def change(file: Path, *statements: str) -> int:
    """Changes the rows of a view in its file, behind the back of who holds it; how many rows it changed."""
    connection = sqlite3.connect(file, timeout=10)
    try:
        with connection:
            return sum(connection.execute(statement).rowcount for statement in statements)
    finally:
        connection.close()


@contextmanager
def locked(file: Path) -> Generator[None, None, None]:
    """Keeps a view's file from being written, as somebody's copy or vacuum does."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def _held(authority: Authority) -> Held:
    return cast("Held", vars(authority)["_bindings"])


def _found(authority: Authority) -> Found:
    return cast("Found", vars(authority)["_by_identity"])
