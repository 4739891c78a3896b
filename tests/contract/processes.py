"""Starts processes of their own at a log under test (`tests.contract.child`)."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.contract.backends import Backend

ROOT = Path(__file__).resolve().parents[2]

LINE_S = 30.0
"""A child that says nothing for so many seconds hangs; starting one takes less than a second."""


@asynccontextmanager
async def child(
    backend: Backend, what: str, topic: str, *rest: object, module: str = "tests.contract.child"
) -> AsyncGenerator[Process]:
    """A child at work, running `module`; it ends, at the latest, when the test leaves."""
    assert backend.address is not None, f"expected {backend.name} to have an address for other processes"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    arguments = [what, backend.address, topic, *(str(each) for each in rest)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE, cwd=ROOT, env=environment
    )
    try:
        yield process
    finally:
        # A child ends with its input; killing one that has just died would race with asyncio for its exit code.
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), LINE_S)
        except TimeoutError:
            process.kill()
            raise


async def line_of(process: Process) -> str:
    """The next line that the child prints, without its end; "" where it has ended."""
    assert process.stdout is not None
    async with asyncio.timeout(LINE_S):
        line = await process.stdout.readline()
    # A child that is killed while it prints leaves half a line, which says nothing.
    return line.decode().removesuffix("\n") if line.endswith(b"\n") else ""


async def lines_of(process: Process) -> list[str]:
    """All that the child still prints, until it has ended."""
    lines: list[str] = []
    while line := await line_of(process):
        lines.append(line)
    return lines
