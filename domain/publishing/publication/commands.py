"""Commands of a publication: the messages that ask for a transition of its life, in the order of that life."""

from interlock.domain.messages import ProjectionAnswered, Publish, RoutingReached

PublicationCommand = Publish | ProjectionAnswered | RoutingReached
