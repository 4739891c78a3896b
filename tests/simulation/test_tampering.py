"""Each harm changes one row, as it says."""

import random
from pathlib import Path

import pytest

from interlock.projections.files import ViewFiles
from interlock.projections.store import Store
from interlock.projections.trigger_index.fold import VIEW
from interlock.projections.trigger_index.store import BINDINGS, BindingRow
from tests.simulation.items import HARMS, Harm
from tests.simulation.tampering import harm_a_row

ROW = BindingRow(
    publication_id="one",
    binding_id="b",
    state="active",
    shell="default",
    definition_id="orders",
    slot_id="s",
    artifact_id="a",
    node_id="placed",
    type="Event",
    name="order.placed",
    identity="i",
    cardinality="fan-out",
    claim="",
)


@pytest.mark.parametrize("harm", HARMS)
def test_a_row_is_harmed_as_was_asked(harm: Harm, tmp_path: Path) -> None:
    files, chance = ViewFiles(tmp_path, VIEW.name), random.Random(1)
    assert harm_a_row(tmp_path, harm, chance) is None, "nothing serves yet"
    store = Store(files.path(1), VIEW)
    store.transact(lambda rows: None, {})
    files.serve(1)
    assert harm_a_row(tmp_path, harm, chance) is None, "there is no row yet"
    store.transact(lambda rows: rows.put(BINDINGS, ROW), {})

    harmed = harm_a_row(tmp_path, harm, chance)
    assert harmed is not None
    rows = store.rows(BINDINGS)
    store.close()
    match harm:
        case "lost":
            assert (harmed, rows) == (ROW, [])
        case "foreign":
            assert str(harmed[0]).startswith("nobody-")
            assert set(rows) == {ROW._replace(publication_id=str(harmed[0])), ROW}
        case "flipped":
            assert rows == [ROW._replace(state="prepared")]
        case "changed":
            assert rows == [ROW._replace(slot_id="somewhere else")]
