"""The triple of shell, definition and name is a slot, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.sharding import slot_id
from tests.support.publishing import Desk, document, publish

pytestmark = pytest.mark.domain

# Few letters, and those that ids are joined with: so that triples often look alike when they are written together.
PARTS = st.text(st.sampled_from("ab/:\x1f1"), max_size=4)
TRIPLES = st.tuples(PARTS, PARTS, PARTS)


@given(TRIPLES, TRIPLES)
def test_a_slot_is_its_triple(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    """Proves: PUB-01"""
    assert (slot_id(*one) == slot_id(*other)) == (one == other)


def test_each_triple_has_an_authority_of_its_own() -> None:
    """Proves: PUB-01, PUB-02"""
    # No projection has to be waited for.
    desk = Desk(kinds=())
    triples = [(shell, name, slot) for shell in ("default", "a") for name in ("a", "b") for slot in ("default", "a")]
    for number, (shell, name, slot) in enumerate(triples):
        desk.ask(publish(f"c{number}", document(name), shell=shell, slot=slot))
    slots = desk.shard.slots
    assert {(slot.shell, slot.definition_id, slot.name) for slot in slots.values()} == set(triples)
    assert {key: (slot.slot_id, slot.revision) for key, slot in slots.items()} == {key: (key, 1) for key in slots}
    assert len({slot.publication_id for slot in slots.values()}) == len(triples)
