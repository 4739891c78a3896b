"""The HTTP API: what the command line, the SDK and other programs ask of an installation."""

from interlock.api.app import create_app
from interlock.api.queries import Queries, open_queries

__all__ = ["Queries", "create_app", "open_queries"]
