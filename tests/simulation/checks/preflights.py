"""What somebody was told that a request would do is what it would have done, at the position that was known (PUB-09).

The model has no state of its own: who has authority and what it claims comes from `authority`, whose a slot is from
`owners`, both as they were at that position. So an answer that is given early or late is held against the right past.

Rules: foresaw-otherwise, foresaw-refusal.
"""

from interlock.domain import sharding
from interlock.domain.publishing.preflight import Preflight
from tests.simulation.checks import Violation
from tests.simulation.checks.authority import AuthorityCheck, Life
from tests.simulation.checks.owners import OwnersCheck, respects
from tests.simulation.ledger import Ledger, Looked


class PreflightsCheck:
    """Holds what clients looked ahead at against what was so."""

    def __init__(self, ledger: Ledger, authority: AuthorityCheck, owners: OwnersCheck) -> None:
        self._ledger = ledger
        self._authority = authority
        self._owners = owners
        self._seen = 0

    def look(self) -> None:
        """Looks at what was told since. Raises `Violation`."""
        for looked in self._ledger.looked[self._seen :]:
            self._seen += 1
            self._held(looked)

    def _held(self, looked: Looked) -> None:
        refusal, outcome = self._refusal(looked), looked.outcome
        if not isinstance(outcome, Preflight):
            told = outcome.kind + dict(outcome.details).get("ownerId", "")
            if told != refusal:
                raise Violation("foresaw-refusal", f"expected refusal {refusal!r} of {looked}, found {told!r}")
            return
        if refusal:
            raise Violation("foresaw-refusal", f"expected refusal {refusal!r} of {looked}, found none")
        expected, found = self._expected(looked), _told(outcome)
        if different := [name for name, value in expected.items() if found[name] != value]:
            raise Violation(
                "foresaw-otherwise",
                f"expected {[(name, expected[name]) for name in different]} at {looked.position}, "
                f"found {[(name, found[name]) for name in different]} in {looked}",
            )

    # ---- what was so ------------------------------------------------------------------------------------------------

    def _slot_id(self, looked: Looked) -> str:
        return sharding.slot_id(looked.wish.shell, looked.definition_id, looked.wish.slot or "default")

    def _selected(self, slot_id: str, position: int) -> list[str]:
        """What a slot has selected with each of its revisions, up to a position; "" where it was emptied."""
        return [publication for number, publication in self._authority.slots.get(slot_id, []) if number <= position]

    def _earlier(self, looked: Looked) -> Life | None:
        """What a restore means: the one that it names, or the one before the present one, or the last of an empty
        slot."""
        if looked.publication_id is not None:
            named = self._authority.lives.get(looked.publication_id)
            of = (looked.wish.shell, looked.definition_id)
            known = named is not None and named.since <= looked.position
            return named if known and named and (named.requested.shell, named.requested.definition_id) == of else None
        selected = self._selected(self._slot_id(looked), looked.position)
        others = [each for each in (selected if selected and not selected[-1] else selected[:-1]) if each]
        return self._authority.lives[others[-1]] if others else None

    def _refusal(self, looked: Looked) -> str:
        """The kind of the refusal, with the owner that it names; "" for none."""
        slot_id, wish = self._slot_id(looked), looked.wish
        earlier = self._earlier(looked) if looked.of == "restore" else None
        if looked.publication_id is not None and earlier is None:
            return "not-found"
        selected = self._selected(slot_id, looked.position)
        if (wish.expect_revision or 0) > len(selected) or (wish.take_over and wish.owner is None):
            return "invalid"
        owner = self._owners.at(slot_id, looked.position)
        if owner is not None and not respects(wish, owner):
            return f"conflict{owner.id}"
        if looked.of != "restore":
            return ""
        if earlier is None:
            return "not-found"
        if earlier.requested.slot_id != slot_id:
            return "invalid"
        had_authority = earlier.activated is not None and earlier.activated.position <= looked.position
        return "" if had_authority else "state"

    def _expected(self, looked: Looked) -> dict[str, object]:
        slot_id, wish = self._slot_id(looked), looked.wish
        past = self._selected(slot_id, looked.position)
        selected = past[-1] if past else ""
        held = {claim for claim, _ in _claims(self._authority.lives[selected])} if selected else set[str]()
        earlier = self._earlier(looked) if looked.of == "restore" else None
        claims = looked.claims if earlier is None else _claims(earlier)
        restored = "" if earlier is None else earlier.requested.publication_id
        wanted = {claim for claim, _ in claims}
        conflicts = {
            (claim, life.requested.slot_id, life.requested.publication_id)
            for life in self._authority.served_at(looked.position)
            if life.requested.slot_id != slot_id and life.requested.shell == wish.shell
            for claim, theirs in _claims(life)
            for mine, ours in claims
            if claim == mine and "exclusive" in (ours, theirs)
        }
        lost = wish.expect_revision is not None and wish.expect_revision < len(past)
        action = "lose" if lost else "conflict" if conflicts else "replace" if selected else "fill"
        if looked.of == "unpublish" and action != "lose":
            action = "empty"
        if (looked.of == "unpublish" and not selected) or (earlier is not None and restored == selected):
            action, restored = "nothing", ""
            conflicts.clear()
        return {
            "action": action,
            "slot": slot_id,
            "revision": len(past),
            "replaces": "" if action == "nothing" else selected,
            "added": wanted - held,
            "removed": held - wanted,
            "retained": wanted & held,
            "conflicts": conflicts,
            "owner": wish.owner,
            "found owner": self._owners.at(slot_id, looked.position),
            "restores": restored,
            "beside": self._beside(looked, slot_id),
        }

    def _beside(self, looked: Looked, slot_id: str) -> set[str]:
        """The other slots of the definition that go on starting work."""
        served = (life.requested for life in self._authority.served_at(looked.position))
        of = (looked.wish.shell, looked.definition_id)
        return {one.slot_name for one in served if (one.shell, one.definition_id) == of and one.slot_id != slot_id}


def _claims(life: Life) -> tuple[tuple[str, str], ...]:
    return () if life.staged is None else tuple((each.claim, each.cardinality) for each in life.staged.bindings)


def _told(outcome: Preflight) -> dict[str, object]:
    return {
        "action": outcome.action,
        "slot": outcome.slot_id,
        "revision": outcome.found_revision,
        "replaces": outcome.replaces,
        "added": {claim.claim for claim in outcome.added},
        "removed": {claim.claim for claim in outcome.removed},
        "retained": {claim.claim for claim in outcome.retained},
        "conflicts": {(one.claim, one.claimant.slot_id, one.claimant.publication_id) for one in outcome.conflicts},
        "owner": outcome.owner,
        "found owner": outcome.found_owner,
        "restores": outcome.restores,
        "beside": set(outcome.beside),
    }
