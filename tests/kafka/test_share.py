"""Sharing out shards: all given, each once, balanced, and no more moves than that needs."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.log.kafka.share import share_out
from interlock.log.kafka.wire_group import Claim
from interlock.log.port import Shard


def shards_of(count: int) -> list[Shard]:
    return [Shard("journal", partition) for partition in range(count)]


NEW = Claim(-1, frozenset())


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[Shard], dict[str, Claim]]:
    """Members with claims that may overlap, be of different generations, and name shards that there are not."""
    shards = shards_of(draw(st.integers(0, 12)))
    known = shards_of(14)
    claims = st.builds(Claim, st.integers(-1, 3), st.frozensets(st.sampled_from(known)))
    return shards, draw(st.dictionaries(st.sampled_from("abcde"), claims, min_size=1))


@given(groups())
def test_every_shard_is_given_once_and_no_member_has_two_more_than_another(
    group: tuple[list[Shard], dict[str, Claim]],
) -> None:
    shards, claims = group
    shares = share_out(shards, claims)
    assert shares.keys() == claims.keys()
    assert sorted(shard for share in shares.values() for shard in share) == shards
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= 1


@given(groups())
def test_sharing_out_again_moves_nothing(group: tuple[list[Shard], dict[str, Claim]]) -> None:
    shards, claims = group
    shares = share_out(shards, claims)
    again = {member: Claim(4, share) for member, share in shares.items()}
    assert share_out(shards, again) == shares


@given(st.integers(1, 12), st.integers(1, 5))
def test_who_comes_takes_only_its_share_and_who_leaves_only_leaves_its_own(count: int, members: int) -> None:
    shards = shards_of(count)
    names = [f"m{number}" for number in range(members)]
    before = share_out(shards, dict.fromkeys(names, NEW))
    claims = {member: Claim(1, share) for member, share in before.items()}
    with_one_more = share_out(shards, claims | {"new": NEW})
    for member in names:
        assert with_one_more[member] <= before[member]
    if members > 1:
        left = share_out(shards, {member: claims[member] for member in names[1:]})
        for member in names[1:]:
            assert left[member] >= before[member]


def test_of_two_that_claim_a_shard_the_newer_claim_holds() -> None:
    shards = shards_of(2)
    claims = {"back": Claim(3, frozenset(shards)), "owner": Claim(7, frozenset(shards[:1]))}
    assert share_out(shards, claims) == {"owner": frozenset(shards[:1]), "back": frozenset(shards[1:])}
