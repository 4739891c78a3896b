"""What the doctor says of the blob store."""

from pathlib import Path

import pytest

from interlock.cli.blobs import look_at_blobs
from interlock.runtime.settings import Settings

ELSEWHERE = "kafka://broker-1.example:9092,broker-2.example:9092"


async def test_a_log_that_machines_share_with_blobs_on_one_of_them_is_a_fault(tmp_path: Path) -> None:
    """Proves: LOG-05"""
    found = await look_at_blobs(Settings(log=ELSEWHERE, data=tmp_path))
    assert not found.ok
    assert str(tmp_path / "blobs") in found.found
    assert "INTERLOCK_BLOBS" in found.remedy


@pytest.mark.parametrize("log", [ELSEWHERE, "kafka://127.0.0.1:9092"])
async def test_a_directory_that_was_chosen_is_taken_with_what_it_has_to_be(tmp_path: Path, log: str) -> None:
    settings = Settings(log=log, blobs=str(tmp_path / "mount"), data=tmp_path)
    missing = await look_at_blobs(settings)
    assert not missing.ok
    assert "No such file" in missing.found
    (tmp_path / "mount").mkdir()
    found = await look_at_blobs(settings)
    assert found.ok
    assert found.found == f"{tmp_path / 'mount'}, which every process of this installation has to see"


@pytest.mark.parametrize(
    ("log", "place"),
    [("", "data/blobs"), ("sqlite:///{}/logs/log.sqlite", "logs/blobs"), ("kafka://localhost:9092", "data/blobs")],
)
async def test_without_a_setting_blobs_are_beside_the_embedded_log_or_in_the_data_directory(
    tmp_path: Path, log: str, place: str
) -> None:
    found = await look_at_blobs(Settings(log=log.format(tmp_path), data=tmp_path / "data"))
    assert found.ok
    assert found.found.startswith(str(tmp_path / place))


async def test_a_store_that_can_t_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("no directory")
    found = await look_at_blobs(Settings(blobs=str(tmp_path / "blobs"), data=tmp_path))
    assert not found.ok
    assert "Not a directory" in found.found


async def test_an_address_that_is_none_is_a_fault_and_its_password_is_not_told() -> None:
    found = await look_at_blobs(Settings(blobs="s3://me:secret@bucket/folder"))
    assert not found.ok
    assert "secret" not in found.found
    assert "INTERLOCK_BLOBS" in found.remedy
