"""Execution: one instance of an executable, pinned to it for life."""
