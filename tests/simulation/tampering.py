"""Hands that change rows of the trigger index which aren't theirs to change: a script of an operator's, a copy that was
put back, a mistake of the engine's that is unknown yet."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

from interlock.projections.files import ViewFiles
from interlock.projections.rows import Table, Value
from interlock.projections.sqlite_rows import select_all
from interlock.projections.trigger_index.fold import VIEW
from interlock.projections.trigger_index.offers import ROUTES
from interlock.projections.trigger_index.store import BINDINGS, CANDIDATES
from tests.simulation.items import Harm

TABLES: Final[tuple[Table[Any], ...]] = (BINDINGS, ROUTES, CANDIDATES)
OTHER_STATE: Final = {"prepared": "active", "active": "prepared"}


def harm_a_row(directory: Path, harm: Harm, chance: random.Random) -> tuple[Value, ...] | None:
    """Harms a row of the copy that serves, and gives it as it then is, or was before it was lost: its publication
    first. None where there is no row yet."""
    files = ViewFiles(directory, VIEW.name)
    generation = files.serving()
    if generation is None:
        return None
    with closing(sqlite3.connect(files.path(generation), isolation_level=None)) as connection:
        tables = [table for table in TABLES if harm != "flipped" or "state" in table.columns]
        rows = [(table, cast(Any, table.row_of(row))) for table in tables for row in select_all(connection, table)]
        if not rows:
            return None
        table, row = chance.choice(rows)
        harmed = _harmed(table, row, harm, chance)
        if harm != "foreign":
            connection.execute(
                f"DELETE FROM {table.name} WHERE {' AND '.join(f'{name} = ?' for name in table.key)}", table.key_of(row)
            )
        if harmed is not None:
            connection.execute(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(harmed))})", harmed)
        return harmed or tuple(row)


def _harmed(table: Table[Any], row: Any, harm: Harm, chance: random.Random) -> tuple[Value, ...] | None:
    """What becomes of a row; None where it goes."""
    match harm:
        case "lost":
            return None
        case "foreign":
            changes = {"publication_id": f"nobody-{chance.getrandbits(32):08x}"}
        case "flipped":
            changes = {"state": OTHER_STATE[row.state]}
        case "changed":
            changes = {"slot_id": "somewhere else"}
    harmed: tuple[Value, ...] = row._replace(**changes)
    return harmed
