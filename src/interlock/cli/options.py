"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
Api = Annotated[str, typer.Option("--api", metavar="URL", help="Where the API is; see INTERLOCK_API.")]
Shell = Annotated[str, typer.Option("--shell", help="The shell (tenant) to act in.")]
LogUrl = Annotated[
    str,
    typer.Option("--log", metavar="URL", help="sqlite:///path, kafka://host:port or memory:; else a file in --data."),
]
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Where views and the embedded log are kept.")]
Apps = Annotated[list[str] | None, typer.Option("--app", metavar="MODULE", help="A module whose activities to run.")]
Port = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="Where the API listens; 0 takes a free one.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, max=500, help="The most rows.")]
After = Annotated[str, typer.Option("--after", help="`next` of the page before.")]
WaitS = Annotated[float | None, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait that long for its end.")]
Slot = Annotated[str | None, typer.Option("--slot", help="The slot's name.")]
Revision = Annotated[int | None, typer.Option("--expect-revision", min=0, help="The slot revision that you observed.")]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="module:attribute, or a .json, .yaml or .yml file.")]
AtLeast = Annotated[
    str, typer.Option("--at-least", metavar="POSITION", help="Answer only once that is known; `atLeast` of an answer.")
]
