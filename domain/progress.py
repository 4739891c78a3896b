"""What a shard's writer says of itself in the frame of each append. Names are storage: never rename a field.

It is all that a new owner needs besides the events: what was consumed, accepted, delivered and answered before it.
A frame holds only what changed; the frame that opens an ownership holds all of it, so that nobody folds from the
first append of a journal.
"""

from interlock.domain.frozen import frozen


@frozen(kw_only=True)
class Progress:
    """The note of one append. No source and no destination is named twice."""

    inbox: int
    """The next offset of the inbox to consume: everything before it is decided."""
    received: tuple[tuple[str, int], ...]
    """Source → the highest number that was accepted from it; what comes with it or a lower one is a repetition."""
    delivered: tuple[tuple[str, int], ...]
    """Destination → the highest number that was delivered to it."""
    answered: tuple[str, ...]
    """The ids of the commands that this append answers."""
    publishing: int
    """The append number of the publishing journal that was decided at; 0 before the first."""
