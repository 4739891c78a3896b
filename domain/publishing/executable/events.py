"""Facts of an executable (stream `executable:<artifact_id>`). Names are storage."""

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class ExecutableSaved:
    """The content is in the log; whoever runs it needs nothing else."""

    artifact_id: str
    content: str
    """Canonical JSON, see `interlock.domain.definitions.compiler`."""


ExecutableEvent = ExecutableSaved
