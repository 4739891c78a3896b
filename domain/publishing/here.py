"""The circumstances of a decision about authority: everything that is neither the message nor the shard's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from interlock.domain.definitions.providers import TriggerProvider
from interlock.domain.publishing.checks import PublicationValidator
from interlock.domain.publishing.policy import HostPolicy
from interlock.domain.publishing.shard import PublishingShard

ASK_AGAIN_MS: Final = 5_000
"""After so long without an answer a projection is asked again: far longer than one takes, far shorter than a candidate
may wait."""

TEST_REFERENCE_MS: Final = 86_400_000
"""A day: as long as somebody works on a draft, and goes on the next morning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """Where and when a decision is made."""

    shard: PublishingShard
    now_ms: int
    position: int
    """The number of the publishing append that will carry the decision."""
    routing_shards: int
    """How many have to say that they decide at a change of authority; at least 1."""
    projection_kinds: tuple[str, ...]
    """The views that have to prepare a candidate."""
    prepare_ms: int
    """How long they may take."""
    providers: Sequence[TriggerProvider]
    host_policy: HostPolicy
    validators: Sequence[PublicationValidator] = ()
    test_reference_ms: int = TEST_REFERENCE_MS
    """How long a TestRun reference lives."""
