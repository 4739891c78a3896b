"""A real Apache Kafka without Docker: fetched with Maven, started with Java, for development and tests."""
