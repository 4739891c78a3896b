"""What a publisher should know of a publication that nothing is wrong with."""

from collections.abc import Iterable
from typing import Final, Protocol

CLAIMS_TOLD_MAX: Final = 5


class Claiming(Protocol):
    """A trigger, wherever it is kept."""

    @property
    def claim(self) -> str:
        """What it claims."""
        ...

    @property
    def route(self) -> object | None:
        """Where it is found, if it is an HTTP endpoint."""
        ...

    @property
    def schedule(self) -> object | None:
        """When it is due, if it comes by itself."""
        ...


def notices(triggers: Iterable[Claiming]) -> tuple[str, ...]:
    """Warnings, in words: triggers that are claimed and that this release can't start anything by yet."""
    triggers = tuple(triggers)
    routes = [each.claim for each in triggers if each.route is not None]
    schedules = [each.claim for each in triggers if each.schedule is not None]
    found: list[str] = []
    if routes:
        found.append(f"HTTP endpoints are claimed, but this release does not serve requests yet: {_listed(routes)}")
    if schedules:
        found.append(f"Timers and crons are claimed, but this release does not fire them yet: {_listed(schedules)}")
    return tuple(found)


def _listed(claims: list[str]) -> str:
    more = f" and {len(claims) - CLAIMS_TOLD_MAX} more" if len(claims) > CLAIMS_TOLD_MAX else ""
    return ", ".join(claims[:CLAIMS_TOLD_MAX]) + more
