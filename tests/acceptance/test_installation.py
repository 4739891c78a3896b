"""Topics, and what `doctor` finds."""

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptance.conftest import Shell
from tests.acceptance.program import command, up


def test_topics_are_missing_made_and_checked(interlock: Shell, tmp_path: Path) -> None:
    """Proves: LOG-07."""
    data = ("--data", str(tmp_path))
    missing = interlock("topics", "check", "--json", *data)
    assert missing.code == 1
    assert {each["setting"] for each in missing.json()["faults"]} == {"existence"}
    assert list(tmp_path.iterdir()) == [], "expected a look at a log that is not there to make none"
    made = interlock("topics", "create", "--json", *data)
    assert (made.code, made.json()["faults"]) == (0, [])
    assert "interlock.publishing.journal" in made.json()["made"]
    assert interlock("topics", "check", *data).code == 0
    assert interlock("topics", "create", "--json", *data).json()["made"] == []


def test_topics_with_another_number_of_shards_are_refused(interlock: Shell, tmp_path: Path) -> None:
    """Proves: LOG-07."""
    data = ("--data", str(tmp_path))
    assert interlock("topics", "create", *data).code == 0
    (tmp_path / "interlock.toml").write_text("routing_shards = 8\n")
    checked = interlock("topics", "check", "--json", *data, cwd=tmp_path)
    assert checked.code == 1
    assert {each["topic"] for each in checked.json()["faults"]} == {
        "interlock.routing.journal",
        "interlock.routing.inbox",
    }
    refused = command("serve", "routing", *data, cwd=tmp_path)
    assert refused.code == 1
    assert "interlock.routing.journal" in refused.err


def test_a_doctor_says_what_is_missing_and_then_that_nothing_is(interlock: Shell, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    nothing = interlock("doctor", "--json", *data, api="http://127.0.0.1:1")
    assert nothing.code == 1
    found = {each["what"]: each for each in nothing.json()["findings"]}
    assert [what for what, each in found.items() if not each["ok"]] == ["API"]
    assert "interlock up" in found["API"]["remedy"]
    assert not (tmp_path / "data").exists()
    with up(tmp_path / "data", app="") as program:
        well = interlock("doctor", *data, api=program.api)
        assert well.code == 0, well.out
        assert well.out.count("ok") == 7


def test_a_doctor_names_a_log_and_a_directory_that_cannot_be_used(interlock: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = interlock("doctor", "--json", "--data", str(tmp_path / "file" / "data"), "--log", "postgres://host")
    assert ended.code == 1
    wrong = {each["what"] for each in json.loads(ended.out)["findings"] if not each["ok"]}
    assert {"topics", "clock", "data directory"} <= wrong


def test_a_doctor_names_a_disk_that_is_full(interlock: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1 << 20)

    def usage(place: Path) -> object:
        return full

    monkeypatch.setattr(shutil, "disk_usage", usage)
    ended = interlock("doctor", "--json", "--data", str(tmp_path))
    found = {each["what"]: each for each in ended.json()["findings"]}["disk of the data"]
    assert (ended.code, found["ok"]) == (1, False)
    assert "make room" in found["remedy"]


def test_other_counts_of_partitions_are_answered_with_the_setting_to_set_back(
    interlock: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ("--data", str(tmp_path))
    assert interlock("topics", "create", *data).code == 0
    monkeypatch.setenv("INTERLOCK_ROUTING_SHARDS", "2")
    ended = interlock("topics", "check", "--json", *data)
    remedies = {each["remedy"] for each in ended.json()["faults"]}
    assert (ended.code, len(remedies)) == (1, 1)
    assert remedies.pop().startswith("set routing_shards back to 4")


def test_a_file_that_is_no_log_or_damaged_is_not_unreachable(interlock: Shell, tmp_path: Path) -> None:
    (tmp_path / "interlock.sqlite").write_bytes(b"no database" * 1000)
    ended = interlock("topics", "check", "--data", str(tmp_path))
    assert ended.code == 1
    assert ended.err.count("expected") == 1


def test_a_password_that_is_missing_is_asked_for_by_its_setting(
    interlock: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    ended = interlock("topics", "check", "--log", "kafka://127.0.0.1:1")
    assert ended.code == 2
    assert "INTERLOCK_KAFKA_PASSWORD" in ended.err
