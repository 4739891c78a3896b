"""`python -m examples.demo`: starts the real program in a fresh directory, does the main job, and says whether it held.

Exits with 0 only if everything did. What was counted is in `demo.json` of the working directory. The data directory
is removed at the end, unless it was named with --data or something went wrong.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from examples.demo.program import DemoFailed, Program
from examples.demo.show import Screen
from examples.demo.story import Story
from interlock.log.port import LogError
from interlock.sdk import ApiError, Unreachable, WireError


def main(arguments: Sequence[str] | None = None) -> int:
    """Tells the story and answers with the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--data", type=Path, help="a directory that is not there yet, or empty; it is kept")
    parser.add_argument("--report", type=Path, default=Path("demo.json"), help="where the counts are written")
    chosen = parser.parse_args(arguments)
    if chosen.data is not None and chosen.data.exists() and any(chosen.data.iterdir()):
        parser.error(f"expected an empty directory, found {chosen.data}")
    data = chosen.data or Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    data.mkdir(parents=True, exist_ok=True)
    screen = Screen()
    problem = _tell(Story(program=Program(data.absolute()), screen=screen), chosen.report)
    if problem:
        screen.failed(f"{problem}\n\nEverything is kept in {data}.")
        return 1
    if chosen.data is None:
        shutil.rmtree(data)
    return 0


def _tell(story: Story, report: Path) -> str:
    """Why it didn't hold; "" if it did."""
    started, problem = time.monotonic(), ""
    try:
        story.tell()
    except (DemoFailed, ApiError, Unreachable, WireError, LogError, httpx.HTTPError, OSError) as error:
        problem = f"{type(error).__name__}: {error}\n\nThe last lines of the process:\n{story.program.last_lines()}"
    finally:
        story.program.close()
    seconds = time.monotonic() - started
    written = {"held": not problem, "seconds": round(seconds, 1), **story.report()}
    report.write_text(json.dumps(written, indent=2) + "\n", "utf-8")
    if not problem:
        story.screen.chapter(f"Everything held, in {seconds:.0f} s; the counts are in {report}")
    return problem


if __name__ == "__main__":
    sys.exit(main())
