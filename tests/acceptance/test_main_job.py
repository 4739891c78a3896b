"""The main job as a user does it: `up`, `publish`, `emit`, and looking at what became of it."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import conftest
from tests.acceptance.program import WAIT_S, Ended, Program, command, eventually, order, payment, up


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Generator[Program, None, None]:
    with up(tmp_path_factory.mktemp("main-job")) as found:
        done = command("publish", "examples.orders:orders", "--json", api=found.api)
        assert (done.code, done.json()["status"], done.err) == (0, "active", "")
        yield found


class Shell:
    """Commands for the program of this module."""

    def __init__(self, program: Program, interlock: conftest.Shell) -> None:
        self.program = program
        self._interlock = interlock

    def __call__(self, *arguments: str, api: str = "") -> Ended:
        return self._interlock(*arguments, api=api or self.program.api)

    def json(self, *arguments: str) -> Any:
        """The document of a command that is done."""
        ended = self(*arguments, "--json")
        assert (ended.code, ended.err) == (0, ""), ended
        return ended.json()


@pytest.fixture
def shell(program: Program, interlock: conftest.Shell) -> Shell:
    return Shell(program, interlock)


def start(shell: Shell, order_id: str) -> str:
    """The run of a new order, once it can be shown; its id."""
    emitted = shell.json(
        "emit", "Event", "order.placed", "--data", json.dumps(order(order_id)), "--correlation", order_id
    )
    detail = shell.json("stimuli", "show", emitted["stimulusId"], "--wait", str(WAIT_S))
    found: str = detail["starts"][0]["executionId"]
    with shell.program.client() as client:
        client.run(found, wait_s=WAIT_S, seen="nothing")
    return found


def pay(shell: Shell, order_id: str, cents: int = 2000) -> None:
    """Pays for an order, now or as soon as it waits."""
    data = json.dumps(payment(order_id, cents))
    shell.json("emit", "Event", "payment.received", "--data", data, "--correlation", order_id, "--ttl", "1h")


def timeless(page: Any) -> list[dict[str, object]]:
    """Runs without the ages, which grow from one look to the next."""
    return [{**run, "unserved": run["unserved"] and run["unserved"]["activity"]} for run in page["items"]]


def test_an_order_goes_from_its_stimulus_to_its_parcel_and_each_part_is_shown(shell: Shell) -> None:
    """Proves: OPS-01, STM-01."""
    run_id = start(shell, "o-1")
    pay(shell, "o-1")
    watched = shell("runs", "watch", run_id)
    assert (watched.code, watched.out.splitlines()[-1]) == (0, "completed, 4 step(s) over")
    run = shell.json("runs", "show", run_id)
    assert [step["nodeId"] for step in run["steps"]] == ["reserve", "payment", "pack", "ship"]
    assert run["run"]["output"]["carrier"] == "parcel post"
    table = shell("runs", "list").out
    assert run_id in table
    assert "completed" in table
    events = [entry["type"] for entry in shell.json("history", f"execution:{run_id}")["items"]]
    assert (events[0], events[-1]) == ("executions.ExecutionStarted", "executions.ExecutionCompleted")
    assert "executions.BookmarkConsumed" in shell("history", run_id).out
    assert "ship" in shell("runs", "show", run_id).out


def test_an_order_whose_payment_comes_first_is_paid_when_it_comes(shell: Shell) -> None:
    """Proves: STM-05."""
    pay(shell, "o-2")
    run_id = start(shell, "o-2")
    assert shell.json("runs", "watch", run_id)["run"]["status"] == "completed"


def test_an_idempotency_key_starts_one_run(shell: Shell) -> None:
    """Proves: STM-04."""
    arguments = ("emit", "Event", "order.placed", "--idempotency-key", "k-3", "--data", json.dumps(order("o-3")))
    first, again = shell.json(*arguments), shell.json(*arguments)
    assert first["stimulusId"] == again["stimulusId"]
    detail = shell.json("stimuli", "show", first["stimulusId"], "--wait", str(WAIT_S))
    assert len(detail["starts"]) == 1


def test_a_run_that_faults_says_why_and_is_a_failure_to_who_watches_it(shell: Shell) -> None:
    run_id = start(shell, "o-4")
    pay(shell, "o-4", cents=1)
    watched = shell("runs", "watch", run_id)
    assert watched.code == 1
    assert "Underpaid: expected 2000 cents" in watched.out.splitlines()[-1]
    assert "Underpaid" in shell("runs", "list", "--status", "faulted").out


def test_a_run_that_is_cancelled_says_who_asked(shell: Shell) -> None:
    run_id = start(shell, "o-5")
    timed_out = shell("runs", "watch", run_id, "--timeout", "0.1")
    assert timed_out.code == 3
    assert shell("runs", "cancel", run_id, "--reason", "changed my mind").code == 0
    assert "changed my mind" in shell("runs", "show", run_id, "--wait", str(WAIT_S)).out
    again = shell("runs", "cancel", run_id, "--json")
    assert (again.code, again.json()["kind"]) == (1, "state")


def test_a_run_that_no_process_can_serve_says_so_with_its_age(shell: Shell, tmp_path: Path) -> None:
    """A run that stands still is told in the list, in the run itself, and in the log of the process."""
    lonely = tmp_path / "lonely.json"
    steps = [{"id": "first", "activity": "nobody"}]
    triggers = [{"type": "event", "name": "lonely.called"}]
    lonely.write_text(json.dumps({"name": "lonely", "triggers": triggers, "steps": steps}))
    assert shell("publish", str(lonely)).code == 0
    stimulus = shell.json("emit", "Event", "lonely.called")["stimulusId"]
    run_id = shell.json("stimuli", "show", stimulus, "--wait", str(WAIT_S))["starts"][0]["executionId"]
    with shell.program.client() as client:
        eventually(lambda: client.run(run_id, wait_s=WAIT_S, seen="nothing").run.unserved, client)
    for shown in (shell("runs", "list", "--unserved").out, shell("runs", "show", run_id).out):
        assert "no process presents activity 'nobody', for " in shown
    assert run_id in shell.program.line("which no process presents")


def test_slots_publications_stimuli_and_views_are_listed_and_shown(shell: Shell) -> None:
    """Proves: OPS-01, PRJ-08."""
    slot = shell.json("slots", "show", "orders")
    publication = slot["authority"]["publication"]["publicationId"]
    assert publication in shell("slots", "list").out
    assert publication in shell("slots", "show", "orders/default").out
    assert publication in shell("publications", "list", "--definition", "orders").out
    assert "active" in shell("publications", "show", publication).out
    assert "order.placed" in shell("stimuli", "list").out
    assert shell("dead-letters", "list").out
    views = shell.json("projections", "list")
    assert {view["state"] for view in views} == {"live"}
    assert "trigger-index" in shell("projections", "list").out


def test_views_are_rebuilt_with_the_same_rows(shell: Shell) -> None:
    """Proves: PRJ-06."""
    before = timeless(shell.json("runs", "list"))
    rebuilt = shell("projections", "rebuild", "--compare")
    assert rebuilt.code == 0
    assert rebuilt.out.count("the same") == 5
    assert timeless(shell.json("runs", "list")) == before
    again = shell("projections", "rebuild", "slots", "--json")
    assert [each["state"] for each in again.json()] == ["done"]


def test_a_changed_version_takes_over_and_only_it_starts_what_comes(shell: Shell) -> None:
    """Proves: PUB-09, PUB-13."""
    preflight = shell.json("preflight", "examples.orders:orders_v2")
    assert preflight["action"] == "replace"
    published = shell.json("publish", "examples.orders:orders_v2", "--expect-revision", "1")
    assert (published["revision"], published["status"]) == (2, "active")
    run_id = start(shell, "o-6")
    assert shell.json("runs", "show", run_id)["run"]["publicationId"] == published["publicationId"]
    lost = shell("publish", "examples.orders:orders", "--expect-revision", "1", "--json")
    assert (lost.code, lost.json()["kind"]) == (1, "superseded")
    assert "at revision 1, found it at 2" in lost.err
    assert shell("preflight", "examples.orders:orders", "--expect-revision", "1").code == 1


def test_a_publish_that_is_not_waited_for_is_pending_and_can_be_asked_again(shell: Shell) -> None:
    """Proves: LOG-06."""
    pending = shell("publish", "examples.orders:orders_v2", "--slot", "blue", "--no-wait", "--json")
    assert (pending.code, pending.json()["status"]) == (3, "pending")
    same = ("publish", "examples.orders:orders_v2", "--slot", "blue", "--command-id", pending.json()["commandId"])
    assert shell.json(*same)["publicationId"] == pending.json()["publicationId"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("publish", "examples.orders:nothing"), 2, "Workflow of examples.orders"),
        (("publish", "no_such_module:orders"), 2, "no_such_module"),
        (("publish", "orders"), 2, "module:attribute"),
        (("publish", "missing.yaml"), 2, "missing.yaml"),
        (("emit", "Event", "a", "--data", "{"), 2, "--data"),
        (("emit", "Event", "a", "--data", "@missing.json"), 2, "missing.json"),
        (("emit", "Webhook", "a"), 1, "Event"),
        (("emit", "Event", "a", "--ttl", "soon"), 1, "ttl"),
        (("runs", "show", "nobody"), 1, "interlock runs list"),
        (("slots", "show", "nobody"), 1, "interlock slots list"),
        (("runs", "list", "--status", "odd"), 1, "status"),
        (("runs", "list", "--limit", "0"), 2, "--limit"),
        (("runs", "list", "--nonsense"), 2, "--nonsense"),
        (("nonsense",), 2, "nonsense"),
        (("serve", "nonsense"), 2, "publishing, routing, executions, projector, reconciler, api"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence_with_its_exit_code(
    shell: Shell, arguments: tuple[str, ...], code: int, says: str
) -> None:
    """Proves: OPS-01."""
    ended = shell(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) <= 6


@pytest.mark.parametrize("api", ["http://127.0.0.1:1", "nonsense", "http://", "http://127.0.0.1:1/path"])
def test_an_api_that_is_not_there_is_unreachable(shell: Shell, api: str) -> None:
    """Proves: OPS-01."""
    ended = shell("runs", "list", "--json", api=api)
    assert (ended.code, ended.json()["kind"]) == (4, "unreachable")
    assert "--api" in ended.err


def test_data_is_taken_from_a_file_and_from_standard_input_as_it_was_written(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('{"exact": 12345678901234567.5, "größe": "é"}', "utf-8")
    from_file = command("emit", "Event", "seen", "--data", f"@{path}", "--json", api=program.api)
    piped = command("emit", "Event", "seen", "--data", "-", "--json", api=program.api, given=path.read_text("utf-8"))
    with program.client() as client:
        found = [client.stimulus(each.json()["stimulusId"], wait_s=WAIT_S) for each in (from_file, piped)]
    assert found[0].stimulus.data == found[1].stimulus.data == json.loads(path.read_text("utf-8"))
