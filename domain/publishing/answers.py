"""What a publish is answered: functions of a publication alone, so that it is always the same, however often asked.

"Pending" is no answer but a report: as long as there is none, `answer` gives None.
"""

from interlock.domain.messages import Reply
from interlock.domain.publishing.publication.state import Publication
from interlock.domain.refusal import Refusal
from interlock.domain.reply import body, refused


def answer(publication: Publication) -> Reply | None:
    """The answer to whoever asked for the publication; None while it is pending."""
    if publication.served:
        return Reply(command_id=publication.command_id, status="done", body=_active(publication))
    if publication.status == "superseded":
        return refused(publication.command_id, _superseded(publication))
    if publication.status == "failed":
        told = body({"kind": _failed_kind(publication), "message": publication.reason, "details": _ids(publication)})
        return Reply(command_id=publication.command_id, status="failed", body=told)
    return None


def _active(publication: Publication) -> str:
    """It was activated and every routing shard decides at it, or at something newer where it was replaced meanwhile."""
    result: dict[str, object] = {
        **_ids(publication),
        "status": "active",
        "revision": publication.revision,
        "position": publication.position,
    }
    if publication.replaced_unserved:
        result["replacedBy"] = publication.replaced_by
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


def _failed_kind(publication: Publication) -> str:
    """A conflict is found before anything is staged, or after everything is prepared; other failures lie between."""
    staged = bool(publication.artifact_id)
    return "conflict" if not staged or publication.prepared == publication.required_projections else "state"


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
