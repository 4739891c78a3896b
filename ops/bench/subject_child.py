"""A subject in a process of its own."""

from multiprocessing.connection import Connection
from typing import Literal

import uvloop

from ops.bench.engine import EngineSubject
from ops.bench.hops import HopsSubject
from ops.bench.process import answer
from ops.bench.subject import Subject
from ops.bench.work import Scenario

Kind = Literal["engine", "hops"]


def main(connection: Connection, kind: Kind, scenario: Scenario) -> None:
    """The main function of the process."""
    uvloop.run(_main(connection, HopsSubject(scenario) if kind == "hops" else EngineSubject(scenario)))


async def _main(connection: Connection, subject: Subject) -> None:
    async def questions(question: str, *arguments: object) -> object:
        return await getattr(subject, question)(*arguments)

    await answer(connection, questions)
