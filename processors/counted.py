"""What of a shard's book counts, kept apart from what is only decided, accepted or delivered so far.

The book that decisions are made on runs ahead of the journal: a message that decides nothing moves the inbox on, a
courier delivers while an append is on its way, and the next frame tells both. A snapshot must not know of them before
it does, or an owner that begins with it would not be the one that a fold from the beginning makes. So this is moved by
appends that count and by nothing else, live and in replay alike.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from interlock.domain.messages import Reply
from interlock.domain.progress import Progress
from interlock.processors.unit import Book, Outgoing


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBook:
    """What is kept of a book that counts; the fields are those of `Book`."""

    inbox: int
    publishing: int
    revisions: dict[str, int]
    received: dict[str, int]
    promised: dict[str, int]
    delivered: dict[str, int]
    answers: dict[str, Reply]
    answered_at: dict[str, int]
    undelivered: tuple[Outgoing, ...]
    """Promises that no frame tells to be delivered, by destination, and in order for each."""


@dataclass(slots=True)
class Counted:
    """How far the last append that counts has come."""

    inbox: int = 0
    publishing: int = 0
    received: dict[str, int] = field(default_factory=dict[str, int])
    delivered: dict[str, int] = field(default_factory=dict[str, int])
    undelivered: dict[str, deque[Outgoing]] = field(default_factory=dict[str, deque[Outgoing]])
    """Destination → promises that no frame tells to be delivered."""

    def note(self, progress: Progress, promised: Sequence[Outgoing]) -> None:
        """Takes the note of an append that counts, and what it promises."""
        self.inbox = progress.inbox
        self.publishing = progress.publishing
        self.received.update(progress.received)
        self.delivered.update(progress.delivered)
        for destination, number in progress.delivered:
            waiting = self.undelivered.get(destination)
            while waiting and waiting[0].number <= number:
                waiting.popleft()
        for promise in promised:
            self.undelivered.setdefault(promise.destination, deque()).append(promise)

    def keep(self, book: Book) -> KeptBook:
        """What counts of a book, right behind an append; what a unit alone changes is taken from it."""
        return KeptBook(
            inbox=self.inbox,
            publishing=self.publishing,
            revisions=book.revisions.copy(),
            received=self.received.copy(),
            promised=book.promised.copy(),
            delivered=self.delivered.copy(),
            answers=book.answers.copy(),
            answered_at=book.answered_at.copy(),
            undelivered=tuple(promise for _, waiting in sorted(self.undelivered.items()) for promise in waiting),
        )

    def restore(self, kept: KeptBook) -> Book:
        """Becomes what was kept, and gives the book to go on with."""
        self.inbox, self.publishing = kept.inbox, kept.publishing
        self.received, self.delivered = kept.received.copy(), kept.delivered.copy()
        self.undelivered = {}
        for promise in kept.undelivered:
            self.undelivered.setdefault(promise.destination, deque()).append(promise)
        return Book(
            inbox=kept.inbox,
            publishing=kept.publishing,
            revisions=kept.revisions.copy(),
            received=kept.received.copy(),
            promised=kept.promised.copy(),
            delivered=kept.delivered.copy(),
            answers=kept.answers.copy(),
            answered_at=kept.answered_at.copy(),
        )
