"""How tests of the judge alter a history: each alteration is marked by the rule that it breaks."""

from collections.abc import Callable

import pytest

from interlock.domain.routing.stimulus.events import StimulusRouted
from tests.simulation.checks.story import Decided, Story, Written, judged

Alter = Callable[[Story], None]


class Cases:
    """The alterations of a module of tests."""

    def __init__(self) -> None:
        self._cases: list[tuple[str, Alter]] = []

    def breaks(self, rule: str) -> Callable[[Alter], Alter]:
        """Marks an alteration by the rule that it breaks; its name says what it does."""

        def note(alter: Alter) -> Alter:
            self._cases.append((rule, alter))
            return alter

        return note

    def both(self) -> list[object]:
        """Parameters for a test: rule and alteration."""
        return [pytest.param(rule, alter, id=f"{rule}: {alter.__name__}") for rule, alter in self._cases]


def broken_by(alter: Alter, story: Story) -> str:
    """The rule that an alteration breaks."""
    altered = story.copy()
    alter(altered)
    return judged(altered)


def routed(story: Story, key: str) -> tuple[Decided, Written]:
    """The routing of a stimulus, by its idempotency key."""
    return next(found for found in story.written(StimulusRouted) if found[1].value.idempotency_key == key)
