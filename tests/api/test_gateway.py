"""What a caller is told of a write that was tried more than once."""

import pytest

from interlock.domain.messages import Origin, RouteStimulus
from interlock.domain.routing.intake import read_stimulus
from interlock.log.faults import ScriptedFaults, SendOutcome, acknowledgement_lost, never_lands, refused
from interlock.log.memory import MemoryBroker, MemoryLog
from interlock.log.port import Doubt, Refused
from interlock.runtime.gateway import Gateway
from interlock.runtime.settings import Settings
from interlock.runtime.topics import topic_specs, topics_of
from interlock.schemas.codec import AvroCodec
from interlock.testing.virtual_time import run_virtual


def _emit(*outcomes: SendOutcome) -> str:
    """Where a stimulus landed, on a log whose writes end like this. Raises what the gateway raises."""

    async def main() -> str:
        settings = Settings(log="memory:")
        broker = MemoryBroker()
        for spec in topic_specs(settings):
            broker.create(spec)
        gateway = Gateway(MemoryLog(broker, faults=ScriptedFaults(outcomes)), AvroCodec(), topics_of(settings))
        origin = Origin(channel="http")
        value = b'{"type":"Event","name":"a"}'
        message = read_stimulus(value, origin=origin, arrived_at_ms=1, shell="default", bytes_max=1_000, request_id="r")
        assert isinstance(message, RouteStimulus)
        return await gateway.emit(message)

    return run_virtual(main())


@pytest.mark.parametrize("first", [acknowledgement_lost(), never_lands()])
def test_what_was_in_doubt_once_is_not_called_refused(first: SendOutcome) -> None:
    """Proves: LOG-06. A later try that was refused says nothing about the first, which may have landed."""
    with pytest.raises(Doubt):
        _emit(first, refused())


def test_what_was_refused_at_once_is_refused() -> None:
    with pytest.raises(Refused):
        _emit(refused())


def test_a_landing_settles_a_doubt() -> None:
    assert _emit(never_lands(), never_lands()).endswith("@0")
