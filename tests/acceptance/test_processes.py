"""The same system as several processes that share one embedded log."""

import signal
from pathlib import Path

from interlock.targets import load_target
from tests.acceptance.program import WAIT_S, command, eventually, order, payment, running

ROLES = ("publishing", "routing", "projector")


def test_roles_as_processes_do_the_main_job_and_one_may_be_killed(tmp_path: Path) -> None:
    """Proves: OWN-01, STM-04."""
    data = ("--data", str(tmp_path))
    executions = ("serve", "executions", "--app", "examples.orders", *data)
    assert command("topics", "create", *data).code == 0
    with (
        running("serve", "api", "--port", "0", *data) as api,
        running("serve", *ROLES, *data),
        running(*executions) as first,
        running(*executions) as second,
    ):
        with api.ready().client() as client:
            client.publish(load_target("examples.orders:orders"))
            orders = [f"o-{number}" for number in range(16)]
            for order_id in orders:
                client.emit("Event", "order.placed", data=order(order_id), correlation=order_id)
            eventually(lambda: client.counts().runs.get("waiting") == len(orders), client)
            first.line("serving executions")
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            for order_id in orders:
                client.emit("Event", "payment.received", data=payment(order_id), correlation=order_id, ttl="1h")
            eventually(lambda: client.counts().runs == {"completed": len(orders)}, client)
            views = client.projections()
            assert {(each.state, each.held_here) for each in views} == {("live", False)}
        rebuilt = command("projections", "rebuild", "executions", "--compare", "--json", api=api.api)
        assert (rebuilt.code, rebuilt.json()[0]["state"]) == (0, "done")
        assert second.end() == 0
        assert api.end() == 0


def test_a_rebuild_without_a_projector_is_pending(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    with running("serve", "api", "--port", "0", *data) as api:
        api.line("the API listens")
        asked = command("projections", "rebuild", "slots", "--no-wait", "--json", api=api.api)
        assert (asked.code, asked.json()[0]["state"]) == (3, "requested")
        warming = command("slots", "list", "--json", api=api.api)
        assert (warming.code, warming.json()["kind"]) == (4, "warming-up")
        with running("serve", "projector", *data):
            with api.client() as client:
                done = client.projection("slots", wait_s=WAIT_S).rebuild
            assert done is not None
            assert (done.rebuild_id, done.state) == (asked.json()[0]["rebuildId"], "done")
