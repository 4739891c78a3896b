"""Processes that are measured: each is spawned, asked over a pipe, and says what it has used.

A subject runs in a process of its own, so that what one leaves in memory burdens no other, and so that the engine and
the bare hops can take turns, round by round, on a machine that others use too.
"""

import asyncio
import multiprocessing
import traceback
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

ANSWER_SECONDS_MAX = 600.0
"""A round takes seconds; past that something hangs."""

_spawn = multiprocessing.get_context("spawn")


class ChildFailed(Exception):
    """A measured process has failed; the message ends with its traceback."""


class Ask(Protocol):
    """What a process is asked: the name of a question and its arguments."""

    def __call__(self, question: str, *arguments: object) -> Awaitable[object]:
        """The answer; it may be anything that pickles."""
        ...


class _Question(NamedTuple):
    name: str
    arguments: tuple[object, ...]


class _Failure(NamedTuple):
    text: str


class Child:
    """A process that answers questions; used by one thread or task at a time."""

    def __init__(self, name: str, main: Callable[..., None], *arguments: object) -> None:
        """Starts `main(connection, *arguments)`; it must be importable, and answer with `answer`."""
        self.name = name
        self._connection, theirs = _spawn.Pipe()
        self._process = _spawn.Process(target=main, args=(theirs, *arguments), name=name, daemon=False)
        self._process.start()
        theirs.close()

    def ask(self, question: str, *arguments: object) -> Any:
        """The answer. Raises `ChildFailed`."""
        try:
            self._connection.send(_Question(question, arguments))
            if not self._connection.poll(ANSWER_SECONDS_MAX):
                raise ChildFailed(f"expected {self.name} to answer {question!r} within {ANSWER_SECONDS_MAX} s")
            found = self._connection.recv()
        except (EOFError, OSError) as error:
            raise ChildFailed(f"expected {self.name} to answer {question!r}, found it ended: {error!r}") from error
        if isinstance(found, _Failure):
            raise ChildFailed(f"{self.name} failed at {question!r}:\n{found.text}")
        return found

    async def ask_async(self, question: str, *arguments: object) -> Any:
        """As `ask`, while the loop goes on."""
        return await asyncio.to_thread(self.ask, question, *arguments)

    def end(self) -> None:
        """Waits for its end; ends it where that takes too long."""
        self._connection.close()
        self._process.join(20)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


async def answer(connection: Connection, questions: Ask) -> None:
    """Answers until the other side closes."""
    while True:
        try:
            question = await asyncio.to_thread(connection.recv)
        except EOFError:
            return
        try:
            found = await questions(question.name, *question.arguments)
        except Exception:  # noqa: BLE001 - it is raised again where it was asked
            found = _Failure(traceback.format_exc())
        connection.send(found)
