"""Executions: where each run is, what it waits for, and what its nodes gave."""
