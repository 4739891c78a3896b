"""The Python SDK: a client of the API with typed answers, and its errors.

The names are loaded when they are first asked for: the types of answers are the server's too, which needs no client.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.sdk.client import ApiError, BadArgument, Client, Unreachable
    from interlock.sdk.wire import WireError

__all__ = ["ApiError", "BadArgument", "Client", "Unreachable", "WireError"]


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    if name not in __all__:
        raise AttributeError(f"module 'interlock.sdk' has no attribute {name!r}")
    from interlock.sdk import client

    return getattr(client, name)
