"""A process of its own with an application of the library; the tests start some, and kill some.

    python -m tests.contract.eventsourcing_child NAME

It adds to an aggregate that all of them share, again and again, and says what was acknowledged: `version id`. It ends
with its input. Where its log is stands in the environment, as for any application.
"""

import sys
import threading

from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.utils import Environment

from interlock.log.recorder import JournalFactory
from tests.contract.eventsourcing_backends import environment

SHARED = "shared"
"""The aggregate that all write."""


def main(name: str) -> None:
    """Writes until the input ends."""
    ended = threading.Event()
    threading.Thread(target=wait_for_end, args=(ended,), daemon=True).start()
    factory = JournalFactory(Environment("Bench", environment()))
    recorder = factory.application_recorder()
    while not ended.is_set():
        last = recorder.select_events(SHARED, desc=True, limit=1)
        version = last[0].originator_version + 1 if last else 1
        try:
            ids = recorder.insert_events([StoredEvent(SHARED, version, "tests:Added", name.encode())])
        except IntegrityError:
            continue
        print(version, *(ids or ()), flush=True)
    factory.close()


def wait_for_end(ended: threading.Event) -> None:
    """Sets `ended` with the end of the input."""
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main(sys.argv[1])
