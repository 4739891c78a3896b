"""Test runs, by a model that is written down anew: they start only from live references, and no slot has a part in it.

publishing: a reference is created, used with each test run, and expires ─► executions: the run starts as was promised

A reference grants nothing of what a slot grants: routing never starts through one, and what starts through one names no
slot, publication, trigger or stimulus. So `authority` looks only at what routing starts, and this at everything else.

What would surprise: an append tells its events before its promises, so a test run whose command used an id up is known
by what the ledger says was asked under it.

Rules: reference-life, reference-granted, reference-dead, trial-twice, trial-unasked, trial-unpromised, trial-of-other,
trial-answered-early, trial-refused, start-by-reference.
"""

import json
from dataclasses import dataclass

from interlock.domain.definitions.executable import ActivityNode, Executable
from interlock.domain.messages import Reply, StartExecution, StartTestRun
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceExpired,
    SourceReferenceRetired,
    SourceReferenceUsed,
)
from interlock.domain.sharding import digest
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import AuthorityCheck
from tests.simulation.checks.tape import Commit, Fact, expect
from tests.simulation.ledger import Ledger


@dataclass(slots=True)
class Reference:
    """One that test runs start from."""

    created: SourceReferenceCreated
    expired: bool = False


class TrialsCheck:
    """Follows the appends of all contexts."""

    def __init__(
        self, ledger: Ledger, authority: AuthorityCheck, executables: dict[str, Executable], *, lives_ms: int
    ) -> None:
        """`lives_ms` is how long a reference lives; `executables` are filled by whoever follows publishing first."""
        self.used: dict[str, SourceReferenceUsed] = {}
        """Run → its use of a reference."""
        self._references: dict[str, Reference] = {}
        self._ledger = ledger
        self._authority = authority
        self._executables = executables
        self._lives_ms = lives_ms
        self._answered: set[tuple[str, str]] = set()
        """Command and what it asked for, of those that have an answer; a repetition gets the same."""

    def publishing(self, commit: Commit) -> None:
        """Takes an append of publishing. Raises `Violation`."""
        starts: dict[str, StartExecution] = {}
        for promise in commit.promises:
            if isinstance(one := promise.message, StartExecution):
                expect(one.execution_id not in starts, "trial-twice", f"expected one start of a run in {commit}")
                starts[one.execution_id] = one
        for fact in commit.facts:
            match fact.event:
                case SourceReferenceCreated(kind="test-run") as created:
                    self._created(fact, created)
                case SourceReferenceUsed() as used:
                    self._used(fact, used, starts.pop(used.execution_id, None))
                case SourceReferenceExpired() as expired:
                    self._expired(fact, expired)
                case SourceReferenceRetired() as retired:
                    known = retired.reference_id in self._references
                    expect(not known, "reference-life", f"expected one of a test run never to be retired: {fact}")
                case _:
                    pass
        expect(not starts, "trial-unasked", f"expected only starts of test runs that use a reference in {commit}")
        for promise in commit.promises:
            if isinstance(promise.message, Reply):
                self._told(commit, promise.message)

    def elsewhere(self, commit: Commit) -> None:
        """Takes an append of another context: what a stimulus starts has a publication. Raises `Violation`."""
        for promise in commit.promises:
            if isinstance(one := promise.message, StartExecution) and (one.test_reference_id or not one.publication_id):
                raise Violation(
                    "start-by-reference", f"expected {commit} to start nothing through a reference, found {promise}"
                )

    def owing(self, now_ms: int) -> list[str]:
        """References whose time is over and that live."""
        return [
            f"reference {key} is over since {now_ms - one.created.expires_at_ms} ms"
            for key, one in self._references.items()
            if not one.expired and one.created.expires_at_ms <= now_ms
        ]

    # ---- within ---------------------------------------------------------------------------------------------------

    def _created(self, fact: Fact, event: SourceReferenceCreated) -> None:
        if event.reference_id in self._references or event.expires_at_ms != event.at_ms + self._lives_ms:
            raise Violation("reference-life", f"expected it once, and that it lives {self._lives_ms} ms: {event}")
        if event.publication_id or event.slot_id or event.artifact_id not in self._executables:
            raise Violation(
                "reference-granted", f"expected an executable and neither slot nor publication in {fact}, found {event}"
            )
        self._references[event.reference_id] = Reference(event)

    def _used(self, fact: Fact, event: SourceReferenceUsed, start: StartExecution | None) -> None:
        reference = self._references.get(event.reference_id)
        if reference is None or reference.expired or event.at_ms >= reference.created.expires_at_ms:
            raise Violation("reference-dead", f"expected a reference that lives at {event.at_ms}, found {reference}")
        created = reference.created
        if (event.command_id, event.asked) in self._answered:
            raise Violation("trial-refused", f"expected nothing to come of what was answered before, found {fact}")
        if event.execution_id in self.used or event.execution_id != run_of(created.shell, event.command_id):
            raise Violation("trial-twice", f"expected the one run of command {event.command_id!r}, found {fact}")
        self.used[event.execution_id] = event
        entry = self._ledger.find(event.command_id, event.asked)
        if entry is None or not isinstance(asked := entry.what, StartTestRun):
            raise Violation("trial-unasked", f"expected somebody to have asked for {event}, found {entry}")
        if not self._is_of(created, asked):
            raise Violation("trial-of-other", f"expected what {asked} names, found {created} used in {fact}")
        expected = StartExecution(
            execution_id=event.execution_id,
            shell=asked.shell,
            definition_id=created.definition_id,
            slot_id="",
            publication_id="",
            artifact_id=created.artifact_id,
            trigger_node="",
            stimulus_id="",
            stimulus_name="",
            data=asked.data,
            test_reference_id=created.reference_id,
        )
        if start != expected:
            raise Violation("trial-unpromised", f"expected {expected} beside {fact}, found {start}")

    def _is_of(self, created: SourceReferenceCreated, asked: StartTestRun) -> bool:
        """Whether a reference is to what a command names; of a document, to what has its name and its activities."""
        if asked.reference_id:
            return created.reference_id == asked.reference_id
        if created.reference_id != reference_of(asked.shell, asked.command_id):
            return False
        if asked.document:
            drawn = json.loads(asked.document)
            wanted = [step["activity"] for step in drawn["steps"] if "activity" in step]
            nodes = self._executables[created.artifact_id].nodes
            found = [node.activity for node in nodes if isinstance(node, ActivityNode)]
            return (drawn["name"], wanted) == (created.definition_id, found)
        return any(
            life.staged is not None
            and life.requested.shell == asked.shell
            and life.requested.definition_id == asked.definition_id == created.definition_id
            and life.staged.definition_version == asked.version == created.definition_version
            and life.staged.artifact_id == created.artifact_id
            for life in self._authority.lives.values()
        )

    def _expired(self, fact: Fact, event: SourceReferenceExpired) -> None:
        reference = self._references.get(event.reference_id)
        if reference is None or reference.expired or event.at_ms < reference.created.expires_at_ms:
            raise Violation("reference-life", f"expected one whose time is over, found {reference} at {fact}")
        reference.expired = True

    def _told(self, commit: Commit, reply: Reply) -> None:
        entry = self._ledger.find(reply.command_id, reply.asked)
        if entry is None or not isinstance(asked := entry.what, StartTestRun):
            return
        key = (reply.command_id, reply.asked)
        if key in self._answered:
            return
        self._answered.add(key)
        made = self.used.get(run_of(asked.shell, asked.command_id))
        by_it = made is not None and made.asked == reply.asked
        named = json.loads(reply.body).get("executionId", "") if reply.status == "done" else None
        if named != (made.execution_id if made is not None and by_it else None):
            raise Violation("trial-answered-early", f"expected {reply} only if so, found {made} in {commit}")


def reference_of(shell: str, command_id: str) -> str:
    """The reference that a command makes: written down anew, since it never changes."""
    return digest("source-reference", "test-run", shell, command_id)


def run_of(shell: str, command_id: str) -> str:
    """The test run that a command starts."""
    return digest("execution", "test-run", shell, command_id)
