"""Says where tasks wait: the line of each that is furthest in, and the calls that lead there."""

import asyncio
import re
from pathlib import Path
from types import FrameType

CALLS_MAX = 4
"""How many of the calls, innermost first, are worth a line."""


def waiting_tasks(loop: asyncio.AbstractEventLoop) -> list[str]:
    """A line for each task of the loop that has not ended, in the order of their names."""
    return [f"{task.get_name()}: {where(task)}" for task in sorted(asyncio.all_tasks(loop), key=_by_name)]


def where(task: "asyncio.Task[object]") -> str:
    """Where a task waits, innermost call first."""
    frames = _frames(task.get_coro())
    if not frames:
        return "has not begun, or waits inside something that shows no code"
    calls = [
        f"{frame.f_code.co_qualname} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
        for frame in reversed(frames)
    ]
    left = len(calls) - CALLS_MAX
    return " < ".join(calls[:CALLS_MAX]) + (f" < {left} more" if left > 0 else "")


def _frames(awaited: object) -> list[FrameType]:
    """The frames of a chain of awaits, outermost first."""
    frames: list[FrameType] = []
    while True:
        kind = next((each for each in ("cr", "gi", "ag") if hasattr(awaited, f"{each}_frame")), None)
        if kind is None:
            return frames
        frame: FrameType | None = getattr(awaited, f"{kind}_frame")
        if frame is not None:
            frames.append(frame)
        awaited = getattr(awaited, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")


def _by_name(task: "asyncio.Task[object]") -> tuple[str, int]:
    """Tasks without a name of their own are numbered: 10 comes after 9."""
    name = task.get_name()
    found = re.fullmatch(r"(.*?)(\d*)", name)
    assert found is not None
    return found[1], int(found[2] or 0)
