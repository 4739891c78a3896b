"""Every stored type, as a release wrote it in which every record had another form: read as the newest version."""

import pytest

from interlock.schemas.catalog import STORED
from interlock.schemas.errors import UnreadableRecord
from tests.schemas.golden import sample
from tests.support.releases import NewerRelease, OlderRelease


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> NewerRelease:
    return NewerRelease(tmp_path_factory.mktemp("schemas"))


@pytest.mark.parametrize("full", [True, False], ids=["full", "sparse"])
@pytest.mark.parametrize("row", STORED, ids=lambda row: row.name)
def test_an_older_version_of_every_type_is_lifted_with_all_that_it_nests(
    newer: NewerRelease, row: tuple[str, type, int], full: bool
) -> None:
    """Proves: LOG-04"""
    older, item = OlderRelease(newer), sample(row[1], row[0], full)
    record = older.encode(item)
    assert record[2:10] == newer.versions.versions(row[0])[0].fingerprint
    assert newer.decode(record) == item
    assert newer.unknown_schema(record) is None
    with pytest.raises(UnreadableRecord):
        older.decode(newer.encode(item))
    assert older.unknown_schema(newer.encode(item)) is not None
