"""A real Apache Kafka without Docker: fetched with Maven, started with Java, for development and tests."""

from ops.kafka.broker import Cluster
from ops.kafka.errors import BrokerFailed, KafkaError, KafkaMissing

__all__ = ["BrokerFailed", "Cluster", "KafkaError", "KafkaMissing"]
