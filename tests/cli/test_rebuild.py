"""What `interlock projections rebuild` prints while it waits."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Literal

import httpx
import pytest
import typer

from interlock.cli import client_commands, rebuild
from interlock.cli.codes import Code
from interlock.sdk import Client
from interlock.sdk.types import Rebuild, ViewStatus
from interlock.sdk.wire import to_wire

COUNTED = ("slots: 10 of 40 appends", "slots: 30 of 41 appends")


def stage(state: Literal["requested", "running", "done"], done: int = 0, total: int = 0) -> Rebuild:
    """The rebuild of these tests, as it is at one moment."""
    return Rebuild(
        rebuild_id="r-1", view="slots", state=state, requested_at_ms=1, appends_done=done, appends_total=total
    )


TAKEN_UP = (stage("running", 10, 40), stage("running", 10, 40), stage("running", 30, 41), stage("done", 41, 41))


def answers(monkeypatch: pytest.MonkeyPatch, stages: Sequence[Rebuild]) -> list[httpx.Request]:
    """Has the API tell one stage after another, the last one for ever; gives what it is asked."""
    left = list(stages)
    asked: list[httpx.Request] = []

    def play(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.method == "POST":
            return httpx.Response(202, json=to_wire(stage("requested")))
        status = ViewStatus(
            view="slots",
            state="live",
            lag=0,
            lag_ms=0,
            held_here=True,
            waiting_for="",
            error="",
            shards=(),
            rebuild=left.pop(0) if len(left) > 1 else left[0],
            mark=f"m-{len(asked)}",
        )
        return httpx.Response(200, json=to_wire(status))

    @contextmanager
    def asking(api: str, shell: str) -> Generator[Client, None, None]:
        with Client("http://api", shell=shell, transport=httpx.MockTransport(play)) as client:
            yield client

    monkeypatch.setattr(client_commands, "asking", asking)
    return asked


def test_how_far_a_rebuild_is_is_printed_once_for_each_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each question but the first waits until something is different from what was seen last."""
    asked = answers(monkeypatch, TAKEN_UP)
    client_commands.projections_rebuild(["slots"])
    lines = capsys.readouterr().out.splitlines()
    assert tuple(lines[:2]) == COUNTED
    assert not [line for line in lines[2:] if line.endswith("appends")]
    assert [request.url.params.get("seen") for request in asked[1:]] == [None, "m-2", "m-3", "m-4"]


def test_what_a_script_reads_is_the_answer_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(monkeypatch, TAKEN_UP)
    client_commands.projections_rebuild(["slots"], as_json=True)
    told = capsys.readouterr()
    assert tuple(told.err.splitlines()) == COUNTED
    [found] = json.loads(told.out)
    assert (found["state"], found["appendsDone"], found["appendsTotal"]) == ("done", 41, 41)


def test_a_rebuild_that_nobody_takes_up_is_pending_and_told_how_it_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rebuild, "PATIENCE_S", -1.0)
    answers(monkeypatch, [stage("requested")])
    with pytest.raises(typer.Exit) as end:
        client_commands.projections_rebuild(["slots"])
    assert end.value.exit_code == Code.PENDING
    assert "interlock serve projector" in capsys.readouterr().out.splitlines()[0]
