"""Who of a group gets which shard: balanced, and as little as possible moves. Pure."""

from collections.abc import Collection, Mapping

from interlock.log.kafka.wire_group import Claim
from interlock.log.port import Shard


def share_out(shards: Collection[Shard], claims: Mapping[str, Claim]) -> dict[str, frozenset[Shard]]:
    """Gives every shard to exactly one member. No member has two more than another.

    A member keeps what it had, as far as that is balanced. Where two claim the same shard, the one whose claim is
    newer keeps it: the other was away when it was given on.
    """
    members = sorted(claims)
    if not members:
        return {}
    held = _undisputed(shards, claims)
    least, larger = divmod(len(shards), len(members))
    shares: dict[str, list[Shard]] = {}
    # Those that hold the most are the first to have one more than the least: fewer shards move.
    for member in sorted(members, key=lambda each: (-len(held[each]), each)):
        most = least + (1 if larger > 0 else 0)
        shares[member] = sorted(held[member])[:most]
        if len(shares[member]) > least:
            larger -= 1
    given = {shard for share in shares.values() for shard in share}
    free = sorted(set(shards) - given, reverse=True)
    for member in members:
        while free and len(shares[member]) < least:
            shares[member].append(free.pop())
    for member in members:
        if free and len(shares[member]) == least:
            shares[member].append(free.pop())
    return {member: frozenset(share) for member, share in shares.items()}


def _undisputed(shards: Collection[Shard], claims: Mapping[str, Claim]) -> dict[str, set[Shard]]:
    """What each member had, with each shard in the hands of one at most."""
    held: dict[str, set[Shard]] = {member: set() for member in claims}
    wanted = set(shards)
    for member in sorted(claims, key=lambda each: (-claims[each].generation, each)):
        mine = (claims[member].owned & wanted) - set().union(*held.values())
        held[member] |= mine
    return held
