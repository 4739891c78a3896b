"""What somebody was told that a publish would do is what it would have done, at the position that was known (PUB-09).

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

    def _slot_id(self, looked: Looked) -> str:
        return sharding.slot_id(looked.wish.shell, looked.definition_id, looked.wish.slot or "default")

    def _selected(self, slot_id: str, position: int) -> tuple[int, str]:
        """Revision of a slot and what it selects, at a position."""
        past = [publication for number, publication in self._authority.slots.get(slot_id, []) if number <= position]
        return len(past), past[-1] if past else ""

    def _refusal(self, looked: Looked) -> str:
        """The kind of the refusal, with the owner that it names; "" for none."""
        slot_id = self._slot_id(looked)
        if (looked.wish.expect_revision or 0) > self._selected(slot_id, looked.position)[0]:
            return "invalid"
        owner = self._owners.at(slot_id, looked.position)
        return "" if owner is None or respects(looked.wish, owner) else f"conflict{owner.id}"

    def _expected(self, looked: Looked) -> dict[str, object]:
        slot_id, wish = self._slot_id(looked), looked.wish
        revision, selected = self._selected(slot_id, looked.position)
        held = {claim for claim, _ in _claims(self._authority.lives[selected])} if selected else set[str]()
        wanted = {claim for claim, _ in looked.claims}
        conflicts = {
            (claim, life.requested.slot_id, life.requested.publication_id)
            for life in self._authority.served_at(looked.position)
            if life.requested.slot_id != slot_id and life.requested.shell == wish.shell
            for claim, theirs in _claims(life)
            for mine, ours in looked.claims
            if claim == mine and "exclusive" in (ours, theirs)
        }
        lost = wish.expect_revision is not None and wish.expect_revision < revision
        action = "lose" if lost else "conflict" if conflicts else "replace" if selected else "fill"
        return {
            "action": action,
            "slot": slot_id,
            "revision": revision,
            "replaces": selected,
            "added": wanted - held,
            "removed": held - wanted,
            "retained": wanted & held,
            "conflicts": conflicts,
            "owner": wish.owner,
            "found owner": self._owners.at(slot_id, looked.position),
        }


def _claims(life: Life) -> list[tuple[str, str]]:
    return [] if life.staged is None else [(each.claim, each.cardinality) for each in life.staged.bindings]


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
    }
