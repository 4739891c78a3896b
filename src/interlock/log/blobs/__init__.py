"""Large values beside the log, and the logs that know where they are."""
