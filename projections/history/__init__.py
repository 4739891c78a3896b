"""History: every event of every aggregate, as it was recorded."""
