"""Executable: the immutable content that publications name, saved once a content."""
