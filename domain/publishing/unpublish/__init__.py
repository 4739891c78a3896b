"""Unpublish: one request to empty a slot, and what became of it."""
