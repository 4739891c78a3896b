"""Bugs of test runs, and of commands that come under an id that was used."""

from collections.abc import Callable
from typing import Any, cast

from interlock.domain import sharding
from interlock.domain.decider import NOTHING, Nothing
from interlock.domain.messages import StartTestRun
from interlock.domain.publishing import decide as publishing_decide
from interlock.domain.publishing.again import ClientCommand, again
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.publication.state import publication_id
from interlock.domain.publishing.reference import decide as reference_decide
from interlock.domain.publishing.reference.events import SourceReferenceCreated
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.refusal import Refusal
from interlock.domain.routing import intake
from interlock.processors import answering
from tests.simulation.bugs import Catalogue, Swaps
from tests.simulation.plan import Lean

trials = Catalogue()


@trials.bug(lean=Lean(trials=8))
def a_test_run_starts_from_a_reference_that_is_over() -> Swaps:
    """Who kept a reference tries what nobody keeps any more. The mistake: to trust that what is over is gone."""
    original = cast("Callable[[Here, StartTestRun], object]", getattr(reference_decide, "_earlier"))  # noqa: B009

    def earlier(here: Here, message: StartTestRun) -> object:
        found = here.shard.references.get(message.reference_id)
        created = None if found is None else found.created
        is_for_trials = isinstance(created, SourceReferenceCreated) and created.kind == "test-run"
        return created if is_for_trials else original(here, message)

    return [(reference_decide, "_earlier", earlier)]


@trials.bug(lean=Lean(trials=8))
def a_test_run_waits_for_what_others_wait_for() -> Swaps:
    """A payment is taken by a test run from the order that it is for. The mistake: to start it apart from everybody,
    and to let it wait among them."""

    def identity_for_run(execution_id: str, identity: str) -> str:
        return identity

    return [(sharding, "identity_for_run", identity_for_run)]


@trials.bug(lean=Lean(trials=8))
def a_stimulus_for_a_test_run_is_for_everybody() -> Swaps:
    """What was meant for a test run is taken by the order that it looks like. The mistake: to check the name of the run
    on the way in, and to leave it there."""

    def identity_for_run(execution_id: str, identity: str) -> str:
        return identity

    return [(intake, "identity_for_run", identity_for_run)]


@trials.bug(lean=Lean(trials=2))
def the_end_of_a_reference_is_never_told() -> Swaps:
    """Who looks at references finds all that there ever were, and what they name is kept. The mistake: to refuse what
    is over where it is asked for, and to write nothing down."""
    original: Any = PublishingShard._apply_reference  # pyright: ignore[reportPrivateUsage]

    def apply_reference(self: PublishingShard, event: object) -> None:
        original(self, event)
        self.expiring.clear()

    return [(PublishingShard, "_apply_reference", apply_reference)]


@trials.bug(lean=Lean(others=10))
def another_command_under_a_used_id_is_taken_for_the_first() -> Swaps:
    """Who chose an id that was used waits for an answer that never comes. The mistake: to know a command by its id
    alone where it is decided."""

    def taken(shard: PublishingShard, message: ClientCommand) -> Nothing | Refusal | None:
        return None if again(shard, message) is None else NOTHING

    return [(publishing_decide, "again", taken)]


@trials.bug(lean=Lean(others=10))
def another_command_under_a_used_id_gets_the_answer_of_the_first() -> Swaps:
    """Who chose an id that was used is told what was never asked. The mistake: to know a command by its id alone where
    answers are kept."""

    def named(asked: str, command_id: str) -> str:
        return command_id

    return [(answering, "_named", named)]


@trials.bug(lean=Lean(others=20, slots=6, trials=2))
def only_publishes_use_their_ids_up() -> Swaps:
    """Under the id of an unpublish or of a test run something else is done. The mistake: to have written down what was
    asked where ids were first made of commands, and nowhere else."""

    def of_publishes(shard: PublishingShard, message: ClientCommand) -> Nothing | Refusal | None:
        published = publication_id(message.shell, message.command_id) in shard.publications
        return again(shard, message) if published else None

    return [(publishing_decide, "again", of_publishes)]
