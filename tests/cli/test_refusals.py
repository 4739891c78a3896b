"""What a command that is refused tells a script."""

import json
from typing import NoReturn

import pytest

from interlock.cli import main
from interlock.cli.asking import asking
from interlock.cli.codes import Code, CommandError
from interlock.cli.publishing_commands import repeatable
from interlock.sdk import ApiError
from interlock.sdk.types import Conflict, DocumentFault

FAULT = DocumentFault(code="source", where="ship", expected="one of input", found="nowhere")
CONFLICT = Conflict(
    claim="gate:north",
    node_id="north",
    definition_id="keeper",
    slot_id="s",
    slot_name="blue",
    publication_id="p",
    claimant_node_id="gate",
    cardinality="exclusive",
)


def told(error: ApiError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """The document that `--json` ends with where the API answers so."""

    def refuse() -> NoReturn:
        with asking("http://127.0.0.1:1", "default"):
            raise error

    with pytest.raises(CommandError):
        refuse()
    monkeypatch.setattr("sys.argv", ["interlock", "publish", "--json"])
    monkeypatch.setattr(main, "app", refuse)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == Code.FAILED
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_conflict_names_claim_definition_slot_publication_and_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(ApiError(409, "conflict", "m", {}, conflicts=(CONFLICT,)), monkeypatch, capsys)
    assert found["conflicts"] == [
        {
            "claim": "gate:north",
            "nodeId": "north",
            "definitionId": "keeper",
            "slotId": "s",
            "slotName": "blue",
            "publicationId": "p",
            "claimantNodeId": "gate",
            "cardinality": "exclusive",
        }
    ]
    assert "faults" not in found


def test_what_is_wrong_with_a_document_is_told_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(ApiError(400, "invalid", "m", {}, faults=(FAULT,)), monkeypatch, capsys)
    assert found["faults"] == [{"code": "source", "where": "ship", "expected": "one of input", "found": "nowhere"}]


def test_a_command_that_is_not_waited_for_to_the_end_says_how_it_is_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt), repeatable("c-1"):
        raise KeyboardInterrupt
    told = capsys.readouterr()
    assert "--command-id c-1" in told.err
    assert not told.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("history", "orders/default", "--at", ""), "a revision or an instant"),
        (("slots", "list", "--shell", ""), "a name for --shell"),
        (("slots", "show", "orders", "blue", "--slot", "green"), "the slot's name once"),
    ],
)
def test_what_says_nothing_or_two_things_is_refused_before_anything_is_sent(
    arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["interlock", *arguments])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == Code.USAGE
    assert says in capsys.readouterr().err
