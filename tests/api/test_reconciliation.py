"""Rows that are wrong behind the engine's back are found and repaired, and what only lags is left alone (PRJ-05)."""

import sqlite3
from dataclasses import replace

from interlock.domain.publishing.authority import AuthoritativeBinding
from interlock.domain.sharding import stimulus_identity
from interlock.runtime.engine import Engine
from tests.api.reconciling import index, reconciler, settled
from tests.api.service import WAIT_S, Service, document
from tests.cases.offers import cron, definition, http
from tests.support import tampering

PLACED = stimulus_identity("Event", "order.placed")
VIEW = "view trigger-index"


def rows(engine: Engine) -> list[tuple[object, ...]]:
    with sqlite3.connect(index(engine)) as connection:
        return [
            row
            for table in ("bindings", "candidates", "routes", "schedules", "asks")
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
        ]


def held(engine: Engine) -> set[tuple[AuthoritativeBinding, str, str]]:
    return {(each.binding, each.shell, each.state) for each in engine.replica.authority.held()}


async def test_a_pass_over_rows_that_are_right_finds_nothing_and_records_nothing(service: Service) -> None:
    await service.publish()
    found = await settled(service)
    assert {copy.kind for copy in found.copies} == {"trigger-index"}
    assert [copy.publications for copy in found.copies] == [1, 1]
    assert found.reconciliation_id == ""


async def test_one_pass_repairs_all_that_is_wrong_in_the_view_and_in_the_replica(service: Service) -> None:
    """Proves: PRJ-05."""
    engine = service.engine
    first, second = await service.publish(), await service.publish(document("invoices", event="invoice.sent"))
    await settled(service)
    right, right_held = rows(engine), held(engine)
    lost, flipped = first["publicationId"], second["publicationId"]
    changed = tampering.change(
        index(engine),
        f"DELETE FROM bindings WHERE publication_id = '{lost}'",
        f"UPDATE bindings SET state = 'prepared' WHERE publication_id = '{flipped}'",
        "INSERT INTO bindings SELECT 'dead', 'b', 'prepared', shell, definition_id, slot_id, artifact_id, node_id,"
        f" type, name, identity, cardinality, claim FROM bindings WHERE publication_id = '{flipped}'",
        "INSERT INTO candidates SELECT 'dead', shell, definition_id, slot_id FROM candidates LIMIT 1",
    )
    assert changed == 4
    authority = engine.replica.authority
    (binding,) = authority.bindings("default", PLACED)
    tampering.lose(authority)
    tampering.add(authority, "default", replace(binding, publication_id="stranger", binding_id="b"))

    dry = await reconciler(service).sweep(repair=False)
    assert {finding.outcome for finding in dry.findings} == {"found"}
    assert rows(engine) != right

    pass_ = await reconciler(service).sweep(requested_by="ada")
    counts = {
        (each.holder == VIEW, each.publication_id): (each.missing, each.foreign, each.flipped, each.changed)
        for each in pass_.findings
    }
    assert counts == {
        (True, lost): (1, 0, 0, 0),
        (True, flipped): (0, 0, 1, 0),
        (True, "dead"): (0, 2, 0, 0),
        (False, lost): (1, 0, 0, 0),
        (False, flipped): (1, 0, 0, 0),
        (False, "stranger"): (0, 1, 0, 0),
    }
    assert {finding.outcome for finding in pass_.findings} == {"repaired"}
    await settled(service)
    assert (rows(engine), held(engine)) == (right, right_held)


async def test_one_pass_repairs_rows_of_every_table(service: Service) -> None:
    """Proves: PRJ-05."""
    engine = service.engine
    await service.publish(definition("orders", http("/orders"), http("/returns"), cron("1 * * * *")))
    await settled(service)
    right = rows(engine)
    changed = tampering.change(
        index(engine),
        "DELETE FROM routes WHERE rowid = 1",
        "UPDATE routes SET publication_id = 'dead' WHERE rowid = 2",
        "UPDATE schedules SET expression = '2 * * * *'",
        "INSERT INTO asks SELECT publication_id, 'trigger-index', shell, 2 FROM candidates",
    )
    assert changed == 4
    assert rows(engine) != right
    pass_ = await reconciler(service).sweep()
    assert {finding.outcome for finding in pass_.findings} == {"repaired"}
    await settled(service)
    assert rows(engine) == right


async def test_a_pass_can_be_asked_for_and_what_it_repaired_is_recorded(service: Service) -> None:
    """Proves: PRJ-05 (records what it repaired)."""
    published = await service.publish()
    await settled(service)
    identity = published["publicationId"]
    tampering.change(index(service.engine), f"DELETE FROM bindings WHERE publication_id = '{identity}'")
    dry = await service.post("/v1/reconcile", {"dryRun": True})
    assert (dry["dryRun"], dry["rows"], dry["reconciliationId"]) == (True, 1, "")
    assert (await service.get("/v1/repairs"))["items"] == []

    done = await service.post("/v1/reconcile", {"requestedBy": "ada"})
    (drifted,) = done["drifted"]
    assert (drifted["holder"], drifted["outcome"], drifted["missing"]) == (VIEW, "repaired", 1)
    await settled(service)
    (repair,) = (await service.get("/v1/repairs"))["items"]
    assert (repair["publicationId"], repair["missing"], repair["requestedBy"]) == (identity, 1, "ada")
    assert repair["reconciliationId"] == done["reconciliationId"]
    events = await service.get(f"/v1/history/reconciliation:{done['reconciliationId']}", wait=WAIT_S)
    assert [(event["type"], event["data"]["standing"]) for event in events["items"]] == [
        ("publishing.ProjectionRepaired", "active")
    ]
    drift = (await service.get("/v1/projections/trigger-index"))["drift"]
    assert (drift["repairs"], drift["rows"], drift["lastAtMs"]) == (1, 1, repair["atMs"])
    again = await service.post("/v1/reconcile", {})
    assert (again["rows"], again["drifted"], again["reconciliationId"]) == (0, [], "")


async def test_repairs_come_in_pages_newest_first(service: Service) -> None:
    await service.publish()
    await settled(service)
    tampering.change(
        index(service.engine),
        *(
            f"INSERT INTO candidates SELECT 'dead-{number}', shell, definition_id, slot_id FROM candidates LIMIT 1"
            for number in range(3)
        ),
    )
    await service.post("/v1/reconcile", {})
    await settled(service)
    first = await service.get("/v1/repairs", limit=2)
    rest = await service.get("/v1/repairs", limit=2, after=first["next"])
    found = [each["publicationId"] for each in (*first["items"], *rest["items"])]
    assert (sorted(found), rest["next"]) == ([f"dead-{number}" for number in range(3)], None)


async def test_a_view_that_has_stopped_is_told_and_asked_for_nothing(service: Service) -> None:
    await service.publish()
    await settled(service)
    tampering.change(index(service.engine), "DELETE FROM bindings", "UPDATE _view SET error = 'it can not fold'")
    found = await service.post("/v1/reconcile", {})
    states = {copy["holder"] == VIEW: (copy["state"], copy["why"]) for copy in found["copies"]}
    assert states == {True: ("stopped", "it can not fold"), False: ("compared", "")}
    assert found["drifted"] == []
