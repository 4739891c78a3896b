"""Where the command line looks for the API."""

from pathlib import Path

import pytest

from interlock.cli.address import API_DEFAULT, SETTINGS, find_api, unknown_variables
from interlock.cli.codes import CommandError
from interlock.cli.settings import load
from interlock.runtime.settings import Settings


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTERLOCK_API", raising=False)


def test_the_default_is_that_of_the_settings() -> None:
    assert Settings().api == API_DEFAULT == find_api("")


def test_a_flag_beats_the_environment_and_that_beats_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("interlock.toml").write_text('api = "http://file:1"\n')
    assert find_api("") == load().api == "http://file:1"
    monkeypatch.setenv("INTERLOCK_API", "http://environment:1")
    assert find_api("") == load().api == "http://environment:1"
    assert find_api("http://flag:1") == "http://flag:1"


def test_an_unknown_key_of_the_file_is_refused_for_who_asks_and_for_who_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(Settings.model_fields) == SETTINGS
    Path("interlock.toml").write_text('appi = "http://file:1"\n')
    for ask in (lambda: find_api(""), lambda: find_api("http://flag:1"), load):
        with pytest.raises(CommandError, match="appi"):
            ask()


def test_a_variable_that_looks_like_a_setting_and_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INTERLOCK_APII", "INTERLOCK_API", "INTERLOCK_TEST_KAFKA", "OTHER"):
        monkeypatch.setenv(name, "x")
    (told,) = unknown_variables()
    assert "found INTERLOCK_APII (did you mean INTERLOCK_API?)" in told


@pytest.mark.parametrize("content", ["api = ", "api = 8321", "\udcff"])
def test_a_file_that_cannot_be_read_is_told(content: str) -> None:
    Path("interlock.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CommandError, match=r"interlock\.toml"):
        find_api("")


@pytest.mark.parametrize(
    ("port", "api", "expected"),
    [
        (1234, "http://127.0.0.1:8321", "http://127.0.0.1:1234"),
        (0, "http://0.0.0.0:80", "http://0.0.0.0:0"),
        (1234, "http://[::1]:8321", "http://[::1]:1234"),
    ],
)
def test_a_port_takes_the_place_of_the_address_port(
    monkeypatch: pytest.MonkeyPatch, port: int, api: str, expected: str
) -> None:
    monkeypatch.setenv("INTERLOCK_API", api)
    assert load(port=port).api == expected


@pytest.mark.parametrize("api", ["https://host:1", "host:1", "http://host", "http://host:x", "http://host:1/path"])
def test_an_address_that_nobody_can_listen_on_is_told(monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    monkeypatch.setenv("INTERLOCK_API", api)
    with pytest.raises(CommandError, match="http://host:port"):
        load(port=1)


def test_a_setting_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ROUTING_SHARDS", "many")
    with pytest.raises(CommandError, match="routing_shards"):
        load()


@pytest.mark.parametrize("text", ["a.b,c", " a.b , c ", '["a.b", "c"]'])
def test_apps_in_the_environment_have_commas_or_are_json(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("INTERLOCK_APP", text)
    assert load().app == ("a.b", "c")


def test_apps_that_are_neither_say_what_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_APP", "[a.b")
    with pytest.raises(CommandError, match="commas between them, or a JSON list"):
        load()
