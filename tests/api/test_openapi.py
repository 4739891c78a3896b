"""The OpenAPI document says what there is."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route

from interlock.api.app import ENDPOINTS
from interlock.api.endpoint import Endpoint
from interlock.api.openapi import document
from tests.api.service import WAIT_S, Service


async def test_every_route_is_in_the_document(service: Service) -> None:
    """Proves: OPS-01."""
    paths = (await service.get("/v1/openapi.json"))["paths"]
    routed = {each.routed_as or each.path: each.path for each in ENDPOINTS}
    routed |= {path: path for path in ("/v1/openapi.json", "/metrics")}
    for route in service.app.routes:
        assert isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}:
            assert method.lower() in paths[routed[route.path]], f"{method} {route.path}"


def test_every_reference_leads_somewhere_and_every_operation_is_described() -> None:
    whole = document(ENDPOINTS)
    schemas: Any = whole["components"]
    for reference in _references(whole):
        assert reference.removeprefix("#/components/schemas/") in schemas["schemas"], reference
    identities: list[str] = []
    paths: Any = whole["paths"]
    for path, operations in paths.items():
        for operation in operations.values():
            assert operation["summary"], path
            identities.append(operation["operationId"])
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_path_parameters_are_declared(endpoint: Endpoint) -> None:
    whole: Any = document((endpoint,))
    declared = {each["name"] for each in whole["paths"][endpoint.path][endpoint.method.lower()]["parameters"]}
    assert {part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")} <= declared
    assert set(endpoint.parameters) <= declared


async def test_what_is_answered_has_the_fields_of_the_document(service: Service) -> None:
    published = await service.publish()
    run_id = await service.started()
    detail = await service.get(f"/v1/runs/{run_id}", wait=WAIT_S)
    schemas = (await service.get("/v1/openapi.json"))["components"]["schemas"]
    assert set(published) == set(schemas["Published"]["properties"])
    assert set(detail) == set(schemas["RunDetail"]["properties"])
    assert set(detail["run"]) == set(schemas["Run"]["properties"])


def test_every_answer_is_a_data_class_of_the_sdk() -> None:
    for endpoint in ENDPOINTS:
        answer = getattr(endpoint.answer, "__origin__", endpoint.answer)
        assert dataclasses.is_dataclass(answer)
        assert answer.__module__.startswith("interlock.sdk.types.")


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType] # JSON of any shape
            if name == "$ref":
                yield str(item)  # pyright: ignore[reportUnknownArgumentType]
            else:
                yield from _references(item)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _references(item)  # pyright: ignore[reportUnknownArgumentType]
