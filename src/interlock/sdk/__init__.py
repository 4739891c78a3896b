"""The Python SDK: a client of the API with typed answers, and its errors."""

from interlock.sdk.client import ApiError, Client, Unreachable
from interlock.sdk.wire import WireError

__all__ = ["ApiError", "Client", "Unreachable", "WireError"]
