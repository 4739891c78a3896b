"""What a handler without tasks of its own has of `ownership.Handler`: only messages and time make it decide."""

from interlock.domain.decider import Decided
from interlock.processors.mail import Cause
from interlock.processors.mailbox import Mailbox
from interlock.processors.unit import Unit


class Taskless:
    """The part that is the same in each of them."""

    def local(self, item: object, unit: Unit) -> Decided:
        """No task could have reported."""
        raise TypeError(f"expected no report, found {item!r}")

    def cause(self, item: object | None) -> Cause:
        """Only time makes it decide by itself."""
        return Cause("due", "", "")

    async def settle(self, unit: Unit) -> None:
        """Nothing to wait for."""

    def committed(self, mailbox: Mailbox) -> None:
        """Nothing to start."""

    def end(self) -> None:
        """Nothing that could be started."""

    async def close(self) -> None:
        """Nothing to end."""
