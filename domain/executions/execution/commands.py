"""What an execution is asked, beyond the messages that its context's inbox takes (`interlock.domain.messages`).

These come from within the process that owns the shard, so they are never stored.
"""

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class ActivityRaised:
    """An activity ended with an error."""

    error_type: str
    """The error's kind, as its code names it."""
    error_message: str


@frozen(kw_only=True)
class ActivityFinished:
    """An activity that was invoked has ended; with node and attempt it says which invocation that was."""

    node_id: str
    attempt: int
    """From 1."""
    result: str | ActivityRaised
    """Its output as JSON text, or its error."""
