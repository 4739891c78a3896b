"""Ends the brokers of a process that has ended, however it ended: a SIGKILL runs no handler of its own.

It runs as a process beside the brokers and reads from a pipe which of them are there: `+123` for one more, `-123` for
one that is gone. When the pipe closes or its parent is another, whoever started it is dead, and it kills what is left.
A death signal of the kernel (PR_SET_PDEATHSIG) would not do: it comes when the *thread* ends that started the broker,
and only Linux has it.

This file is run by its path and imports nothing of this package.
"""

import contextlib
import os
import select
import signal
import sys

LOOK_SECONDS = 1.0
"""How often it looks for its parent, in case that a child of it inherited the pipe and holds it open."""


def watch(pipe: int, parent: int) -> set[int]:
    """Waits for the end of `parent`, and says which process groups it has left."""
    groups: set[int] = set()
    rest = b""
    while os.getppid() == parent:
        if not select.select([pipe], [], [], LOOK_SECONDS)[0]:
            continue
        read = os.read(pipe, 4096)
        if not read:
            break
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            change = groups.add if line.startswith(b"+") else groups.discard
            change(int(line[1:]))
    return groups


def main() -> None:
    """Watches over the parent whose number is the first argument."""
    for group in watch(sys.stdin.fileno(), int(sys.argv[1])):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
