"""Stimuli and dead letters: what came in, and what became of it."""
