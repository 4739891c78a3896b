"""The cases that the `eventsourcing` library ships for recorders, bound to ours; each still without a backend."""

from collections.abc import Callable

import pytest
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.tests import application, persistence

from interlock.log.recorder import JournalFactory
from interlock.log.recorder.contracts import (
    JournalAggregateRecorder,
    JournalApplicationRecorder,
    JournalProcessRecorder,
    JournalTrackingRecorder,
)
from tests.contract.eventsourcing_backends import OnBackend


class Constructs(OnBackend):
    """Makes the factory as an application would, and closes it after the test."""

    addCleanup: Callable[..., None]

    def construct(self) -> JournalFactory:
        """A factory, closed with the test."""
        factory = JournalFactory.construct(self.env)
        self.addCleanup(factory.close)
        return factory


class Aggregates(Constructs, persistence.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.construct().aggregate_recorder()


class Snapshots(Constructs, persistence.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return self.construct().aggregate_recorder("snapshots")


class Applications(Constructs, persistence.ApplicationRecorderTestCase):
    def create_recorder(self) -> ApplicationRecorder:
        return self.construct().application_recorder()

    def test_insert_subscribe(self) -> None:
        """The library leaves it to each recorder to call this one."""
        self.optional_test_insert_subscribe()


class ApplicationsOfProcesses(Applications):
    """A process recorder is an application recorder too."""

    def create_recorder(self) -> ApplicationRecorder:
        return self.construct().process_recorder()


class Trackings(Constructs, persistence.TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.construct().tracking_recorder()


class TrackingsOfProcesses(Constructs, persistence.TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return self.construct().process_recorder()


class Processes(Constructs, persistence.ProcessRecorderTestCase):
    def create_recorder(self) -> ProcessRecorder:
        return self.construct().process_recorder()


class NonInterleaving(Constructs, persistence.NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return self.construct().application_recorder()


class View(JournalTrackingRecorder):
    """A tracking recorder of a user's."""


class Factories(OnBackend, persistence.InfrastructureFactoryTestCase[JournalFactory]):
    def expected_factory_class(self) -> type[JournalFactory]:
        return JournalFactory

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        return JournalAggregateRecorder

    def expected_application_recorder_class(self) -> type[ApplicationRecorder]:
        return JournalApplicationRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        return JournalTrackingRecorder

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        return View

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        return JournalProcessRecorder


class Example(OnBackend, application.ExampleApplicationTestCase):
    expected_factory_topic: str = "interlock.log.recorder.factory:JournalFactory"


class Behaviour(OnBackend, application.ApplicationTestCase):
    """What the library expects of every application."""

    @pytest.mark.filterwarnings("default:'log' is deprecated:DeprecationWarning")
    def test_application_log(self) -> None:
        """It looks for a warning, which must not be an error before it is seen."""
        super().test_application_log()
