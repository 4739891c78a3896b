"""The pace of work that nobody waits for, on a loop that others need: snapshots, and comparing views with the slots.

Such work takes seconds of CPU time where there is much state. Giving way now and then is not enough: a publish comes
back to the loop some dozens of times, and each time one more slice would be before it. So the work also rests, for some
times as long as it has worked: it takes longer, and the others hardly notice.

What would surprise: it goes by the loop's clock, which stands still in a simulation while anything computes; so there
it only gives way, and everything stays in one order.
"""

import asyncio
from typing import Final

SLICE_S: Final = 0.002
"""For how long such work keeps the loop."""
RESTS: Final = 3
"""How many times as long as it has worked it rests."""
REST_S_MAX: Final = 0.05
"""On a busy machine a slice seems long because it had to wait itself."""


class Leisure:
    """Tells when work has kept the loop for long enough, and rests; of one task, within a running loop."""

    def __init__(self) -> None:
        self._time_s = asyncio.get_running_loop().time
        self._began_s = self._time_s()

    def begin(self) -> None:
        """The work goes on now, after it has waited for something else."""
        self._began_s = self._time_s()

    @property
    def due(self) -> bool:
        """Whether it has worked for long enough."""
        return self._time_s() - self._began_s >= SLICE_S

    async def rest(self) -> None:
        """Lets others have their turn, for as long as the work so far deserves."""
        await asyncio.sleep(min(RESTS * (self._time_s() - self._began_s), REST_S_MAX))
        self._began_s = self._time_s()
