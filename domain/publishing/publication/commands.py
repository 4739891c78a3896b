"""Commands of publishing: the messages that ask for a transition of a publication or of its slot, or for a test run."""

from interlock.domain.messages import ProjectionAnswered, Publish, Restore, RoutingReached, StartTestRun, Unpublish

PublicationCommand = Publish | Restore | Unpublish | StartTestRun | ProjectionAnswered | RoutingReached
