"""Time and ids of a real process."""

import secrets
import time


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000


def random_id() -> str:
    """32 hexadecimal digits of the system's randomness."""
    return secrets.token_hex(16)
