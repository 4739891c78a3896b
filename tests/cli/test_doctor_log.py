"""What the doctor says of an embedded log."""

from pathlib import Path

from interlock.cli.doctor import examine


async def test_a_file_that_is_damaged_wants_a_backup_and_no_start(tmp_path: Path) -> None:
    (tmp_path / "interlock.sqlite").write_bytes(b"no database" * 1_000)
    found = next(each for each in await examine("", tmp_path, "http://127.0.0.1:1") if each.what == "topics")
    assert not found.ok
    assert "damaged" in found.found
    assert "backup" in found.remedy
    assert "start" not in found.remedy
