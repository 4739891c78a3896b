"""Commands of publishing: the messages that ask for a transition of a publication or of its slot."""

from interlock.domain.messages import ProjectionAnswered, Publish, Restore, RoutingReached, Unpublish

PublicationCommand = Publish | Restore | Unpublish | ProjectionAnswered | RoutingReached
