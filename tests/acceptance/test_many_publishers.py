"""Many publish one slot from one observed revision, or want one endpoint, from several processes: one wins. On both
logs."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.sdk.types import Publication
from tests.support.installation import BOTH_LOGS, ROOT, WAIT_S, Installation, install, stimulus, until

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]

APP = "tests.support.errands"
SHARES = (13, 13, 12, 12)
"""How many publishes each process asks for at once."""


@pytest.fixture(params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """A program with one publication."""
    made = install(request.param, request, tmp_path)
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        yield made
    finally:
        made.close()


def test_of_fifty_publishes_from_one_revision_by_four_processes_one_is_active(
    installation: Installation, tmp_path: Path
) -> None:
    """Proves: PUB-11, PUB-02."""
    client = installation.client
    before = client.slot("errands").slot
    answers = _published(installation, tmp_path / "gate", before.revision)
    assert Counter(each["answer"] for each in answers) == {"active": 1, "superseded": 49}
    [winner] = [each for each in answers if each["answer"] == "active"]
    assert winner["revision"] == before.revision + 1

    def all_of_them() -> list[Publication] | None:
        found = list(client.publications(definition="errands", limit=500).items)
        return found if len(found) == 51 and {each.status for each in found} <= _ENDS else None

    found = until(all_of_them, "the views to know how each of them ended")
    assert Counter(each.status for each in found) == {"active": 1, "superseded": 49, "retired": 1}
    lost = [each for each in found if each.status == "superseded"]
    assert {(each.expected_revision, each.found_revision) for each in lost} == {(before.revision, before.revision + 1)}
    assert {each["publication"] for each in answers if each["answer"] == "superseded"} == {
        each.publication_id for each in lost
    }
    slot = client.slot("errands").slot
    assert (slot.publication_id, slot.revision) == (winner["publication"], before.revision + 1)
    assert installation.types("errands/default") == ["publishing.SlotActivated"] * 2
    client.emit_json(stimulus("errand.asked", {"n": 1}, "after"))
    [start] = installation.routed("errand.asked", "after").starts
    assert start.publication_id == winner["publication"]


def test_of_many_by_four_processes_that_looked_ahead_at_one_endpoint_one_has_it(
    installation: Installation, tmp_path: Path
) -> None:
    """All were told beforehand that nothing stands against them; the ledger decides again.

    Proves: PUB-12, TRG-04.
    """
    client = installation.client
    answers = _published(installation, tmp_path / "gate", 0, shares=(3, 3, 3, 3), path="/errands/:id")
    assert Counter(each["answer"] for each in answers) == {"active": 1, "conflict": 11}
    [winner] = [each for each in answers if each["answer"] == "active"]
    lost = [each for each in answers if each["answer"] == "conflict"]
    assert {tuple(each["against"]) for each in lost} == {(winner["publication"],)}

    def all_of_them() -> list[Publication] | None:
        found = [each for each in client.publications(limit=500).items if each.definition_id != "errands"]
        return found if len(found) == 12 and {each.status for each in found} <= _ENDS else None

    found = until(all_of_them, "the views to know how each of them ended")
    assert {each.publication_id for each in found if each.status == "failed"} == {each["publication"] for each in lost}
    slots = {each.definition_id for each in client.slots(limit=500).items if each.publication_id}
    assert slots == {"errands", *(each.definition_id for each in found if each.status == "active")}


_ENDS = {"active", "retired", "superseded", "failed"}


def _published(
    installation: Installation, gate: Path, revision: int, *, shares: Sequence[int] = SHARES, path: str = ""
) -> list[dict[str, Any]]:
    """What the processes were answered, all of which began at once."""
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.acceptance.publishers", installation.client.base_url, str(gate)),
                *(str(share), str(revision), f"process-{number}", path),
            ],
            cwd=ROOT,
            env=installation.environment | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, share in enumerate(shares)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        gate.touch()
        told = [process.communicate(timeout=2 * WAIT_S)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * len(processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [json.loads(line) for lines in told for line in lines.splitlines()]
