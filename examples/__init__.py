"""Workflows to try Interlock with, and to learn from."""
