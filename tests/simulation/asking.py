"""How a client asks: by a gateway, and what it remembers of answers."""

from dataclasses import dataclass, field
from typing import Final, cast

from interlock.domain.messages import CancelExecution, Publish, Restore, StartTestRun, Unpublish
from interlock.runtime.gateway import Answer, Gateway

ANSWER_S: Final = 20.0
"""How long a client waits for an answer before it asks again."""


@dataclass(slots=True)
class Named:
    """What answers have named of a definition."""

    publications: list[str] = field(default_factory=list[str])
    versions: list[str] = field(default_factory=list[str])

    def take(self, answer: Answer) -> None:
        """Refusals and failures name them in their details."""
        told = cast("dict[str, object]", answer.body.get("details", answer.body))
        for name, known in (("publicationId", self.publications), ("version", self.versions)):
            value = told.get(name)
            if isinstance(value, str) and value not in known:
                known.append(value)


async def sent(door: Gateway, what: object) -> Answer:
    """The answer to a command, or that there is none yet. Raises what the port raises."""
    match what:
        case Publish() | Unpublish() | Restore():
            return await door.publish(what, ANSWER_S)
        case StartTestRun():
            return await door.start_test_run(what, ANSWER_S)
        case CancelExecution():
            return await door.cancel(what, ANSWER_S)
        case _:
            raise AssertionError(f"expected a command of a client, found {what!r}")
