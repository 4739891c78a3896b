"""The definitions that a simulated run publishes, each in any number of versions, and the stimuli that belong to them.

Every step that the engine knows is in one of them: activities, waits with and without correlation, with and without a
time limit, timers; under both cadences of checkpoints. A version differs from another in its last activity, whose name
ends in the number of the version: a process serves those that its own release knows (`chores.py`).
"""

import json
from dataclasses import dataclass
from typing import Final, Literal

Cadence = Literal["immediate", "coalesced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A workflow of the simulation, of which `document` makes a version."""

    name: str
    event: str
    """What starts it."""
    waits_for: str = ""
    """The event that its runs wait for; "" if they wait for none."""
    correlated: bool = True
    """Whether they wait for the one of their own order, or for any without correlation."""
    timeout: str | None = None
    """How long they wait, as a document says it; None for ever."""
    sleep: str | None = None
    route: str = ""
    """The path that it claims for itself; "" if it claims nothing that another one couldn't have too."""

    @property
    def claims(self) -> tuple[tuple[str, str], ...]:
        """What it claims, and whether it shares that with others."""
        alone = ((f"http:GET {self.route}", "exclusive"),) if self.route else ()
        return ((f"event:{self.event}", "fan-out"), *alone)


DEFINITIONS: Final = (
    Definition(name="orders", event="order.placed", waits_for="payment.received", timeout="2m"),
    Definition(name="audits", event="order.placed"),
    Definition(name="alerts", event="alert.raised", waits_for="alert.seen", correlated=False, timeout="1m"),
    Definition(name="parcels", event="parcel.sent", waits_for="parcel.arrived"),
    Definition(name="reminders", event="reminder.set", sleep="20s"),
    Definition(name="counters", event="counter.read", route="/counters"),
)
"""Orders and audits start from the same event, so that one stimulus starts several runs. Counters claim a path,
so only one of their slots can be filled."""


def document(definition: Definition, version: int, cadence: Cadence | None) -> str:
    """A version of a definition as its author writes it."""
    steps: list[dict[str, object]] = [{"id": "begin", "activity": "begin", "inputs": {"key": "input.key"}}]
    if definition.waits_for:
        wait: dict[str, object] = {"event": definition.waits_for}
        wait |= {"correlate": "input.key"} if definition.correlated else {}
        wait |= {"timeout": definition.timeout} if definition.timeout else {}
        steps.append({"id": "wait", "wait": wait})
    if definition.sleep:
        steps.append({"id": "rest", "sleep": definition.sleep})
    steps.append({"id": "end", "activity": f"end-{version}", "inputs": {"begun": "begin"}})
    claimed = [{"type": "http", "method": "GET", "path": definition.route}] if definition.route else []
    found: dict[str, object] = {
        "name": definition.name,
        "triggers": [{"type": "event", "name": definition.event}, *claimed],
        "steps": steps,
    }
    return json.dumps(found | ({} if cadence is None else {"checkpoints": cadence}))


def stimulus(
    name: str,
    number: int,
    *,
    key: str | None,
    correlation: str | None,
    ttl: str | None,
    deliver: str | None,
    test_run: str | None = None,
) -> bytes:
    """A record of the topic of stimuli, as any client writes it."""
    body: dict[str, object] = {"type": "Event", "name": name, "data": {"key": f"k{number}"}}
    optional = {
        "idempotencyKey": key,
        "correlation": correlation,
        "ttl": ttl,
        "deliver": deliver,
        "testRun": test_run,
    }
    return json.dumps(body | {field: value for field, value in optional.items() if value is not None}).encode()


MALFORMED: Final = (
    b"\xff\x00",
    b"[]",
    b'{"type":"Nope","name":"x"}',
    b'{"type":"Event"}',
    b'{"type":"Event","name":"order.placed","idempotencykey":"typo"}',
    b'{"type":"Event","name":"order.placed","ttl":"-1s"}',
    b'{"type":"Event","name":"order.placed","correlation":""}',
)
"""Records that become dead letters."""
