"""Test runs, and the references that they start from (PUB-17).

A test run is asked of publishing, which alone knows executables, and it is one commit: the executable where it is new,
the reference, that it was used, the start, and the answer. Nothing here looks at a slot, a claim or a binding, and
nothing of them changes: a TestRun reference grants no production start.

Every message may come twice: ids are computed from the command, so what there is already is found
(`interlock.domain.publishing.again`).
"""

from dataclasses import dataclass
from typing import Final

from interlock.domain.asked import asked_of
from interlock.domain.decider import NOTHING, Decided, Decision, Intent, Nothing
from interlock.domain.definitions.compiler import canonical, compile_document
from interlock.domain.messages import Reply, StartExecution, StartTestRun
from interlock.domain.publishing.executable.events import ExecutableSaved
from interlock.domain.publishing.here import Here
from interlock.domain.publishing.reference.events import (
    SourceReferenceCreated,
    SourceReferenceExpired,
    SourceReferenceUsed,
)
from interlock.domain.publishing.shard import PublishingShard
from interlock.domain.publishing.story import Story
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body
from interlock.domain.sharding import digest

EXPIRED_MAX: Final = 100
"""References that one commit lets expire, so that it fits an append; the next one takes more."""


def reference_of(shell: str, command_id: str) -> str:
    """The reference that a command makes, unless it names one; the same again, however often it is sent."""
    return digest("source-reference", "test-run", shell, command_id)


def run_of(shell: str, command_id: str) -> str:
    """The test run that a command starts; the same again, however often it is sent."""
    return digest("execution", "test-run", shell, command_id)


def start_test_run(here: Here, message: StartTestRun) -> Decided:
    """Starts a run, pinned to what the message names, that no slot has a part in."""
    own, run = reference_of(message.shell, message.command_id), run_of(message.shell, message.command_id)
    story = Story(here.now_ms)
    if message.reference_id:
        created = _earlier(here, message)
    else:
        source = _draft(here, message, story) if message.document else _version(here, message)
        created = source if isinstance(source, Refusal) else _created(here, message, own, source)
        if not isinstance(created, Refusal):
            story.change(_stream(own), created)
    if isinstance(created, Refusal):
        return created
    used = SourceReferenceUsed(
        reference_id=created.reference_id,
        command_id=message.command_id,
        execution_id=run,
        requested_by=message.requested_by,
        requested_at_ms=message.requested_at_ms,
        at_ms=here.now_ms,
        asked=asked_of(message),
    )
    story.change(_stream(created.reference_id), used)
    story.intend(Intent("executions", run, _start(message, created, run)))
    return story.replied(_answer(message, created, run)).told()


def expire(shard: PublishingShard, now_ms: int) -> Decision | Nothing:
    """Ends the references whose time is over; at most `EXPIRED_MAX` at once."""
    over = sorted((at_ms, key) for key, at_ms in shard.expiring.items() if at_ms <= now_ms)[:EXPIRED_MAX]
    if not over:
        return NOTHING
    story = Story(now_ms)
    for _, key in over:
        story.change(_stream(key), SourceReferenceExpired(reference_id=key, at_ms=now_ms))
    return story.told()


# ---- what it names --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a new reference stands for."""

    definition_id: str
    version: str
    artifact_id: str
    draft_digest: str = ""
    """"" where it names a version."""


def _draft(here: Here, message: StartTestRun, story: Story) -> _Source | Refusal:
    """A document, compiled; its executable is saved where it is new."""
    executable = compile_document(message.document, here.providers)
    if isinstance(executable, Refusal):
        return executable
    if executable.artifact_id not in here.shard.executables:
        saved = ExecutableSaved(artifact_id=executable.artifact_id, content=canonical(executable))
        story.change(f"executable:{executable.artifact_id}", saved)
    return _Source(
        definition_id=executable.definition_id,
        version=executable.version,
        artifact_id=executable.artifact_id,
        draft_digest=digest("draft", message.document),
    )


def _version(here: Here, message: StartTestRun) -> _Source | Refusal:
    """A version of a definition; of several publications of it, what the newest one would start."""
    wanted = (message.shell, message.definition_id, message.version)
    for each in reversed(here.shard.publications.values()):
        found = (each.shell, each.definition_id, each.definition_version)
        if found == wanted and each.artifact_id in here.shard.executables:
            return _Source(definition_id=each.definition_id, version=message.version, artifact_id=each.artifact_id)
    return Refusal(
        "not-found",
        f"Expected a version {message.version!r} of {message.definition_id!r} that was published, found none; "
        "`interlock publications list` shows those that there are, and a document can be tried without one.",
    )


def _earlier(here: Here, message: StartTestRun) -> SourceReferenceCreated | Refusal:
    """A reference that test runs still start from."""
    found = here.shard.references.get(message.reference_id)
    created = None if found is None else found.created
    if found is None or created is None or created.kind != "test-run" or created.shell != message.shell:
        return Refusal(
            "not-found",
            f"Expected a TestRun reference {message.reference_id!r}, found none; a test run names the one that it "
            "started from.",
        )
    # The timer may come late; the time itself does not.
    if found.expired or here.now_ms >= created.expires_at_ms:
        return Refusal(
            "state",
            f"Expected TestRun reference {created.reference_id} to be live, found that its time is over; "
            "start a test run of the document or version again.",
            (("referenceId", created.reference_id), ("expiresAtMs", str(created.expires_at_ms))),
        )
    return created


def _created(here: Here, message: StartTestRun, reference_id: str, source: _Source) -> SourceReferenceCreated:
    return SourceReferenceCreated(
        reference_id=reference_id,
        kind="test-run",
        publication_id="",
        slot_id="",
        shell=message.shell,
        definition_id=source.definition_id,
        definition_version=source.version,
        artifact_id=source.artifact_id,
        at_ms=here.now_ms,
        names="draft" if source.draft_digest else "version",
        draft_digest=source.draft_digest,
        requested_by=message.requested_by,
        expires_at_ms=here.now_ms + here.test_reference_ms,
    )


# ---- what is promised -----------------------------------------------------------------------------------------------


def _start(message: StartTestRun, created: SourceReferenceCreated, run: str) -> StartExecution:
    return StartExecution(
        execution_id=run,
        shell=message.shell,
        definition_id=created.definition_id,
        slot_id="",
        publication_id="",
        artifact_id=created.artifact_id,
        trigger_node="",
        stimulus_id="",
        stimulus_name="",
        data=message.data,
        test_reference_id=created.reference_id,
    )


def _answer(message: StartTestRun, created: SourceReferenceCreated, run: str) -> Reply:
    result: dict[str, object] = {
        "status": "started",
        "executionId": run,
        "referenceId": created.reference_id,
        "names": created.names,
        "draftDigest": created.draft_digest,
        "definitionId": created.definition_id,
        "version": created.definition_version,
        "artifactId": created.artifact_id,
        "expiresAtMs": created.expires_at_ms,
    }
    return Reply(command_id=message.command_id, status="done", body=body(result))


def _stream(reference_id: str) -> str:
    return f"source-reference:{reference_id}"
