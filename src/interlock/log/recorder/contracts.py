"""The library's four kinds of recorder, over one store each.

Always true: a read shows all that was recorded before it, by any process, because it asks the log where it ends and
waits until the index holds that; nothing is polled. Each method blocks its thread, and no other.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
    TrackingRecorder,
)

from interlock.log.recorder.host import Host, Store
from interlock.log.recorder.subscription import JournalSubscription


class JournalRecorder:
    """What all of them hold."""

    def __init__(self, host: Host, store: Store) -> None:
        """Holds the host, which so stays open as long as a recorder is in use."""
        self._host = host
        self._store = store


class JournalAggregateRecorder(JournalRecorder, AggregateRecorder):
    """Events of originators, without the order between them (snapshots)."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Records all or none; returns None. Raises `IntegrityError` where a version is taken."""
        if stored_events:
            self._host.insert(self._store, stored_events, None)
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The events of one originator with a version above `gt` and up to `lte`, in their order."""
        self._host.catch_up(self._store)
        return self._store.index.events(str(originator_id), gt=gt, lte=lte, desc=desc, limit=limit)


class JournalApplicationRecorder(JournalAggregateRecorder, ApplicationRecorder):
    """Events of originators, and one order of them all."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Records all or none and returns their notification ids. Raises `IntegrityError` where a version is taken."""
        return list(self._host.insert(self._store, stored_events, None)) if stored_events else []

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """The first `limit` events of these topics from `start` to `stop`, in the order in which they count."""
        self._host.catch_up(self._store)
        first = 1 if start is None else start + (0 if inclusive_of_start else 1)
        return self._store.index.notifications(first, stop, topics, limit)

    def max_notification_id(self) -> int | None:
        """How many events there are; None if there is none."""
        self._host.catch_up(self._store)
        return self._store.follower.events or None

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        """The events above `gt`, and each new one as it comes, from any process."""
        return JournalSubscription(self, self._store, gt, topics)


class JournalTrackingRecorder(JournalRecorder, TrackingRecorder):
    """How far other applications were processed."""

    def insert_tracking(self, tracking: Tracking) -> None:
        """Records that a notification was processed. Raises `IntegrityError` unless it is above all before it."""
        self._host.insert(self._store, (), tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        """The highest notification id of an application that was processed; None if none was."""
        self._host.catch_up(self._store)
        return self._store.index.tracked(application_name)


class JournalProcessRecorder(JournalTrackingRecorder, JournalApplicationRecorder, ProcessRecorder):
    """Events together with how far the application that caused them was processed, in one append."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Records events and the keyword `tracking`, all or none. Raises `IntegrityError` where either is taken."""
        tracking: Tracking | None = kwargs.get("tracking")
        if not stored_events and tracking is None:
            return []
        return list(self._host.insert(self._store, stored_events, tracking))
