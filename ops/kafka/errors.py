"""What can go wrong with a broker that runs here, each with what to do about it."""


class KafkaError(Exception):
    """The root of what this package raises."""


class KafkaMissing(KafkaError):
    """Something that has to be there first is not; the message names it and says how to get it."""


class BrokerFailed(KafkaError):
    """A broker did not start, stopped by itself, or does not answer; the message ends with the end of its log."""
