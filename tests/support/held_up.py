"""A log on which some topics take nothing for a while."""

from interlock.log.faults import LANDS, SEEN, Answer, AskOutcome, SendOutcome
from interlock.log.port import Shard


class HeldUp:
    """A log on which nothing gets into one kind of topic while `topics` ends its names."""

    def __init__(self) -> None:
        self.topics = "none"

    def on_send(self, shard: Shard, batch: object) -> SendOutcome:
        """Refused where it is held up."""
        return SendOutcome(landings_s=(), answer=Answer.REFUSED) if shard.topic.endswith(self.topics) else LANDS

    def on_ask(self, shard: Shard) -> AskOutcome:
        """Seen."""
        return SEEN
