"""A subscription to the events of one application: waits for them without a thread of its own, and without polling."""

from collections.abc import Sequence

from eventsourcing.persistence import ApplicationRecorder, Notification, ProgrammingError, Subscription

from interlock.log.recorder.errors import translated
from interlock.log.recorder.host import Store

SELECT_MAX = 500
"""How many events are read from the index at a time."""


class JournalSubscription(Subscription[ApplicationRecorder]):
    """Gives the events above `gt` and then each new one, whoever recorded it; ends when stopped or closed.

    What it reads is the local index, so it outlasts a log that is away; what ends its store for good is raised.
    """

    def __init__(self, recorder: ApplicationRecorder, store: Store, gt: int | None, topics: Sequence[str]) -> None:
        """`recorder` is kept, so that what the subscription reads from stays open."""
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        self._store = store
        self._next = 1 if gt is None else gt + 1
        self._found: list[Notification] = []

    def __next__(self) -> Notification:
        """The next event; waits for it. Raises `StopIteration` once it was stopped."""
        while not self._has_been_stopped:
            if self._found:
                return self._found.pop()
            self._find()
        raise StopIteration

    def stop(self) -> None:
        """Ends the iteration, in whichever thread it waits."""
        follower = self._store.follower
        with follower.news:
            super().stop()
            follower.news.notify_all()

    def _find(self) -> None:
        """Reads the next events; waits where there are none yet."""
        follower = self._store.follower
        with follower.news:
            while follower.events < self._next and not self._has_been_stopped and follower.failure is None:
                follower.news.wait()
            last = follower.events
        if self._has_been_stopped:
            return
        if last < self._next:
            self._end()
            return
        try:
            found = self._store.index.notifications(self._next, last, self._topics, SELECT_MAX)
        except ProgrammingError:
            # The index is closed a moment after the follower.
            if not follower.closed:
                raise
            self._has_been_stopped = True
            return
        self._next = found[-1].id + 1 if len(found) == SELECT_MAX else last + 1
        self._found = found[::-1]

    def _end(self) -> None:
        """The store has ended: in order, which ends the iteration, or by a failure, which is told."""
        follower = self._store.follower
        self._has_been_stopped = True
        if follower.failure is not None and not follower.closed:
            raise translated(follower.failure)
