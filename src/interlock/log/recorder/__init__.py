"""The recorders of the package `eventsourcing`: this is what `PERSISTENCE_MODULE` names."""

from interlock.log.recorder.factory import JournalFactory

__all__ = ["JournalFactory"]
