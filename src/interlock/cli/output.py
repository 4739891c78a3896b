"""What commands print: one JSON document, or tables and fields for people."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def print_json(value: object) -> None:
    """The one document of `--json`, with the names that the API uses."""
    from interlock.sdk.wire import to_wire

    print(json.dumps(to_wire(value), ensure_ascii=not _unicode(), indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """Rows under their columns; a sentence where there are none. Where no terminal says how wide the output may be,
    each row is one line."""
    given = [[clean(str(cell)) for cell in row] for row in rows]
    if not given:
        print(empty)
        return
    if not sys.stdout.isatty():
        _print_lines([columns, *given])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in given:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Names and values, one a line; empty values are left out."""
    shown = [(name, clean(str(value))) for name, value in fields if value not in ("", None, ())]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        print(f"{name:<{width}}  {value}")


def clean(text: str) -> str:
    """A text that does nothing to the terminal that shows it: control characters as escapes, in one line."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def instant(at_ms: int | None) -> str:
    """An instant as people read it, in UTC; "" for none."""
    if at_ms is None:
        return ""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def age(ms: int) -> str:
    """How long something takes, in its two largest units."""
    seconds = ms // 1000
    for unit, size, smaller, smaller_size in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size}{unit}{seconds % size // smaller_size}{smaller}"
    return f"{ms / 1000:.1f}s"


def short(value: object, characters_max: int = 100) -> str:
    """A JSON value in one line, cut where it is long."""
    text = json.dumps(value, ensure_ascii=not _unicode())
    return text if len(text) <= characters_max else f"{text[: characters_max - 1]}…"


def _print_lines(rows: Sequence[Sequence[str]]) -> None:
    """Each row in a line, whatever its length, with its cells under each other."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        print("  ".join(padded).rstrip())


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
