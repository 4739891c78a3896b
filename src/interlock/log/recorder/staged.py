"""Judges commits one after the other: on what counts, and on what was staged before them for the same append."""

from enum import Enum

from interlock.log.recorder.commit import Commit
from interlock.log.recorder.index import Index


class Judgement(Enum):
    """What may become of a commit."""

    FITS = "fits"
    """It was staged."""
    TAKEN = "taken"
    """A version, or a tracking, of it counts already, or stands in it twice: nothing can make it fit."""
    STAGED = "staged"
    """The same, but with what is only staged; if that comes to nothing, it may fit."""
    AHEAD = "ahead"
    """A version is above the next one, as far as is known here."""


class Staged:
    """The commits of one append, as they are gathered."""

    def __init__(self, index: Index, *, dense: bool) -> None:
        """`dense` as for the writer: each event of an originator must be the next one, and the first 0 or 1."""
        self._index = index
        self._dense = dense
        self._heads: dict[str, int] = {}
        self._versions: set[tuple[str, int]] = set()
        self._tracking: dict[str, int] = {}

    def judge(self, commit: Commit) -> tuple[Judgement, str]:
        """Stages the commit if it fits; else says why not, in a sentence."""
        judged = self._judge_tracking(commit)
        if judged[0] is Judgement.FITS:
            judged = self._judge_dense(commit) if self._dense else self._judge_sparse(commit)
        if judged[0] is Judgement.FITS and commit.tracking is not None:
            self._tracking[commit.tracking.application_name] = commit.tracking.notification_id
        return judged

    def _judge_tracking(self, commit: Commit) -> tuple[Judgement, str]:
        tracking = commit.tracking
        if tracking is None:
            return Judgement.FITS, ""
        name, number = tracking.application_name, tracking.notification_id
        counted = self._index.tracked(name)
        if counted is not None and number <= counted:
            return Judgement.TAKEN, f"expected a tracking of {name!r} above {counted}, found {number}"
        staged = self._tracking.get(name)
        if staged is not None and number <= staged:
            return Judgement.STAGED, f"expected a tracking of {name!r} above {staged}, found {number}"
        return Judgement.FITS, ""

    def _judge_dense(self, commit: Commit) -> tuple[Judgement, str]:
        heads: dict[str, int] = {}
        for event in commit.events:
            originator, version = str(event.originator_id), event.originator_version
            counted = self._index.last_version(originator) if originator not in heads else None
            if counted is not None and version <= counted:
                return Judgement.TAKEN, f"expected version {counted + 1} of {originator} to be next, found {version}"
            before = heads.get(originator)
            head = before if before is not None else self._heads.get(originator, counted)
            if head is not None and version <= head:
                judgement = Judgement.STAGED if before is None else Judgement.TAKEN
                return judgement, f"expected version {head + 1} of {originator} to be next, found {version}"
            if version != head + 1 if head is not None else version not in (0, 1):
                expected = "0 or 1 to be the first version" if head is None else f"version {head + 1} to be next"
                return Judgement.AHEAD, f"expected {expected} of {originator}, found {version}"
            heads[originator] = version
        self._heads |= heads
        return Judgement.FITS, ""

    def _judge_sparse(self, commit: Commit) -> tuple[Judgement, str]:
        versions: set[tuple[str, int]] = set()
        for event in commit.events:
            key = str(event.originator_id), event.originator_version
            sentence = f"expected version {key[1]} of {key[0]} to be new, found it there"
            if key in versions or self._index.holds(*key):
                return Judgement.TAKEN, sentence
            if key in self._versions:
                return Judgement.STAGED, sentence
            versions.add(key)
        self._versions |= versions
        return Judgement.FITS, ""
