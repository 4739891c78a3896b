"""The table of settings in docs/guides/operating.md, made from the settings themselves.

python -m ops.settings_table          writes it
python -m ops.settings_table --check  exits with 1 where the page says something else
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from pydantic import SecretStr

from interlock.runtime.settings import Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "operating.md"
BEGIN = "<!-- settings: made by `python -m ops.settings_table` -->\n"
END = "<!-- end of settings -->\n"


def main(arguments: list[str]) -> int:
    """Writes the table, or says whether it is right."""
    text = PAGE.read_text("utf-8")
    wanted = rendered(text)
    if "--check" in arguments:
        if text != wanted:
            print(f"{PAGE.name}: the settings have changed; say `python -m ops.settings_table`", file=sys.stderr)
        return int(text != wanted)
    PAGE.write_text(wanted, "utf-8")
    return 0


def rendered(page: str) -> str:
    """The page with the table as it has to be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def table() -> str:
    """A row for each setting: its key, its default, and what its docstring says."""
    rows = "".join(f"| `{name}` | {default} | {meaning} |\n" for name, default, meaning in settings())
    return "\n| setting | default | meaning |\n|---|---|---|\n" + rows + "\n"


def settings() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each setting, in the order of the class."""
    meanings = _docstrings()
    for name, field in Settings.model_fields.items():
        yield name, _shown(field.default), meanings.get(name, "")


def _shown(default: object) -> str:
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    if isinstance(default, tuple):
        return "none" if not default else f"`{default}`"
    return "none" if default in (None, "") else f"`{default}`"


def _docstrings() -> dict[str, str]:
    """The text below each field; classes don't keep it."""
    found: dict[str, str] = {}
    body = ast.parse(dedent(inspect.getsource(Settings))).body[0]
    assert isinstance(body, ast.ClassDef)
    for field, below in zip(body.body, body.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found[field.target.id] = " ".join(below.value.value.split())
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
