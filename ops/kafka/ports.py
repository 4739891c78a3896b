"""Ports of 127.0.0.1 for the nodes of a cluster.

Free ones are taken from below the range that the kernel gives to outgoing connections. Within that range a client that
tries to reach a broker that is down can be given the broker's own port, connect to itself, and keep the broker from
coming back.
"""

import random
import socket

from ops.kafka.errors import BrokerFailed
from ops.kafka.settings import Address

FIRST, LAST = 15_000, 31_999
CONTROLLER_DISTANCE = 10_000
"""How far behind a chosen port its controller listens: 19092 for 9092."""


def addresses(nodes: int, port: int | None) -> list[Address]:
    """Where each node listens: at `port` and behind it, or at any ports that are free now."""
    if nodes not in (1, 3):
        raise ValueError(f"expected a cluster of 1 or 3 nodes, found {nodes}: replicas are 1, or 3 with 2 in sync")
    if port is None:
        ports = _free(2 * nodes)
        pairs = list(zip(ports[:nodes], ports[nodes:], strict=True))
    else:
        pairs = [(each, each + CONTROLLER_DISTANCE) for each in range(port, port + nodes)]
        taken = [each for pair in pairs for each in pair if not is_free(each)]
        if taken:
            raise BrokerFailed(
                f"expected ports {taken} of 127.0.0.1 to be free, found something that listens there; stop it (an "
                "earlier `make kafka`, perhaps), or choose another port"
            )
    return [Address(node=node, port=one, controller_port=two) for node, (one, two) in enumerate(pairs, start=1)]


def is_free(port: int) -> bool:
    """Whether a server could listen at this port of 127.0.0.1 now."""
    with socket.socket() as attempt:
        # As a server does, so that connections of before that the kernel still remembers don't count.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        port = random.randint(FIRST, LAST)
        if is_free(port):
            found.add(port)
    return list(found)
