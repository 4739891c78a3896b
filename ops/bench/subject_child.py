"""A subject in a process of its own."""

from multiprocessing.connection import Connection
from typing import Literal

import uvloop

from interlock.runtime import garbage
from ops.bench.engine import EngineSubject
from ops.bench.hops import HopsSubject
from ops.bench.process import answer
from ops.bench.sampling import sampled
from ops.bench.subject import Subject
from ops.bench.work import Scenario

Kind = Literal["engine", "hops"]

HOT_FUNCTIONS = 10


def main(connection: Connection, kind: Kind, scenario: Scenario) -> None:
    """The main function of the process."""
    # As a process of the engine does; the hops get the same.
    garbage.look_seldom()
    uvloop.run(_main(connection, kind, scenario))


async def _main(connection: Connection, kind: Kind, scenario: Scenario) -> None:
    subject: Subject = HopsSubject(scenario) if kind == "hops" else EngineSubject(scenario)

    async def questions(question: str, *arguments: object) -> object:
        if question == "profile":
            (runs,) = arguments
            assert isinstance(runs, int), "expected a number of runs"
            return await _profile(subject, runs)
        return await getattr(subject, question)(*arguments)

    await answer(connection, questions)


async def _profile(subject: Subject, runs: int) -> list[str]:
    """Where this process spends its CPU time under load, as lines of text."""
    with sampled() as samples:
        await subject.load(runs)
    lines = [f"{samples.taken} samples; own share, share with what it calls, function:"]
    lines += [f"  {hot.own:6.1%} {hot.whole:6.1%}  {hot.where}" for hot in samples.top(HOT_FUNCTIONS)]
    lines.append("by package, the innermost function of this repository counts:")
    lines += [f"  {share:6.1%}  {name}" for name, share in samples.packages()]
    return lines
