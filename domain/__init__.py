"""Decisions only: pure functions on frozen data, without await, clock, chance or a log."""
