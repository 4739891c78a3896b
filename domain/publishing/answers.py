"""What a publish is answered: functions of a publication alone, so that it is always the same, however often asked.

"Pending" is no answer but a report: as long as there is none, `answer` gives None.
"""

from typing import Literal

from interlock.domain.messages import Reply
from interlock.domain.publishing.notices import notices
from interlock.domain.publishing.publication.events import ClaimConflict, PublicationFailed
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body, refused, told_fault


def answer(publication: Publication) -> Reply | None:
    """The answer to whoever asked for the publication; None while it is pending."""
    if publication.served:
        return _reply(publication, "done", _active(publication))
    if publication.status == "superseded":
        return refused(publication.command_id, _superseded(publication), publication.asked)
    if publication.failure is not None:
        return _reply(publication, "failed", body(_failed(publication, publication.failure)))
    return None


def _reply(publication: Publication, status: Literal["done", "failed"], told: str) -> Reply:
    return Reply(command_id=publication.command_id, status=status, body=told, asked=publication.asked)


def _active(publication: Publication) -> str:
    """It was activated and every routing shard decides at it, or at something newer where it was replaced meanwhile."""
    result: dict[str, object] = {
        **_ids(publication),
        "status": "active",
        "revision": publication.revision,
        "position": publication.position,
    }
    if warnings := notices(publication.bindings):
        result["warnings"] = list(warnings)
    if publication.restores:
        result["restores"] = publication.restores
    if publication.replaced_unserved:
        by = "replacedBy" if publication.replaced_by else "unpublishedBy"
        result[by] = publication.replaced_by or publication.unpublish_id
    return body(result)


def _superseded(publication: Publication) -> Refusal:
    sentence = (
        f"Expected slot {publication.slot_name!r} of {publication.definition_id!r} at revision "
        f"{publication.expected_revision}, found it at {publication.found_revision}; "
        "look at what is there now and publish again."
    )
    return Refusal(
        "superseded",
        sentence,
        (
            *_ids(publication).items(),
            ("expectedRevision", str(publication.expected_revision)),
            ("foundRevision", str(publication.found_revision)),
        ),
    )


def _failed(publication: Publication, failure: PublicationFailed) -> dict[str, object]:
    """Why it failed: a sentence, and what a program may act on."""
    told: dict[str, object] = {"kind": failure.kind, "message": failure.reason, "details": _ids(publication)}
    if failure.faults:
        told["faults"] = [told_fault(fault) for fault in failure.faults]
    if failure.conflicts:
        told["conflicts"] = [told_conflict(conflict) for conflict in failure.conflicts]
    return told


def told_conflict(conflict: ClaimConflict) -> dict[str, str]:
    """A conflict as answers hold it."""
    return {
        "claim": conflict.claim,
        "nodeId": conflict.node_id,
        "definitionId": conflict.definition_id,
        "slotId": conflict.slot_id,
        "slotName": conflict.slot_name,
        "publicationId": conflict.publication_id,
        "claimantNodeId": conflict.claimant_node_id,
        "cardinality": conflict.cardinality,
    }


def _ids(publication: Publication) -> dict[str, str]:
    """What names a publication; artifact and version only where it came so far."""
    ids = {
        "publicationId": publication.publication_id,
        "definitionId": publication.definition_id,
        "slotId": publication.slot_id,
        "slot": publication.slot_name,
        "artifactId": publication.artifact_id,
        "version": publication.definition_version,
    }
    return {name: value for name, value in ids.items() if value}
