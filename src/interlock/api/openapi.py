"""The OpenAPI document, made from the table of endpoints and the types that they answer."""

import dataclasses
import inspect
import types
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from interlock.api.endpoint import PARAMETERS, Endpoint
from interlock.sdk.types import Json as JsonValue
from interlock.sdk.types import Problem
from interlock.sdk.wire import camel, hints

Schema = dict[str, object]

_PLAIN: dict[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    object: {},
}


def document(endpoints: Sequence[Endpoint]) -> Schema:
    """The whole document, OpenAPI 3.1."""
    schemas: dict[str, Schema] = {}
    problem = _schema(Problem, schemas)
    paths: dict[str, dict[str, object]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, problem)
    paths["/v1/openapi.json"] = {
        "get": {
            "operationId": "openapi",
            "summary": "This document.",
            "responses": {"200": {"description": "OK", "content": _json({"type": "object"})}},
        }
    }
    paths["/metrics"] = {
        "get": {
            "operationId": "metrics",
            "summary": "How this process is, in Prometheus' text form.",
            "responses": {"200": {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}}},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Interlock",
            "version": "1",
            "description": "Publishes workflows, takes stimuli, and tells what runs do. Instants are milliseconds "
            "since 1970. Errors are a Problem; 503 passes by itself, and the same request may be sent again.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Schema], problem: Schema) -> Schema:
    said = inspect.getdoc(endpoint.handler) or ""
    summary, _, description = said.partition("\n\n")
    operation: Schema = {
        "operationId": camel(endpoint.handler.__name__),
        "summary": " ".join(summary.split()),
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": {
            **{
                str(status): {
                    "description": HTTPStatus(status).phrase,
                    "content": _json(_schema(endpoint.answer, schemas)),
                }
                for status in endpoint.statuses
            },
            "default": {"description": "Why it is not done", "content": _json(problem)},
        },
    }
    if description:
        operation["description"] = " ".join(description.split())
    if endpoint.body is not None:
        # pydantic's definitions would be a second place for schemas; the bodies are flat and have none.
        schemas[endpoint.body.__name__] = endpoint.body.model_json_schema(by_alias=True)
        operation["requestBody"] = {"content": _json(_reference(endpoint.body.__name__))}
    elif endpoint.method == "POST":
        operation["requestBody"] = {"required": True, "content": _json(_STIMULUS)}
    return operation


_STIMULUS: Schema = {
    "type": "object",
    "description": "A stimulus, as on the topic `stimuli`.",
    "required": ["type", "name"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "enum": ["Event"]},
        "name": {"type": "string"},
        "data": {"description": "The payload; {} if it is left out."},
        "idempotencyKey": {"type": "string", "description": "Names what happened; the same again starts nothing."},
        "correlation": {"type": "string"},
        "ttl": {"type": "string", "description": "Such as 1h or PT1H: how long it meets waits that come after it."},
        "deliver": {"type": "string", "enum": ["all", "one"]},
        "shell": {"type": "string"},
    },
}


def _path_parameters(endpoint: Endpoint) -> list[Schema]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(endpoint: Endpoint) -> list[Schema]:
    return [
        {"name": name, "in": "query", "description": PARAMETERS[name], "schema": {"type": "string"}}
        for name in endpoint.known
    ]


def _schema(type_: Any, schemas: dict[str, Schema]) -> Schema:
    """The schema of a type; data classes become components."""
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ == JsonValue:
        return {"description": "Any JSON value."}
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [{"type": "null"} if each is type(None) else _schema(each, schemas) for each in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], schemas)}
    return _component(origin or type_, arguments, schemas)


def _component(type_: Any, arguments: tuple[Any, ...], schemas: dict[str, Schema]) -> Schema:
    name = "".join([type_.__name__, *("Of" + cast("type", each).__name__ for each in arguments)])
    if name not in schemas:
        schemas[name] = {}
        known = hints(type_)
        properties: dict[str, object] = {}
        for field in dataclasses.fields(type_):
            found = known[field.name]
            if arguments and any(isinstance(each, TypeVar) for each in getattr(found, "__parameters__", ())):
                found = found[arguments]
            properties[camel(field.name)] = _schema(found, schemas)
        schemas[name] = {
            "type": "object",
            "description": " ".join((inspect.getdoc(type_) or "").split()),
            "required": [camel(f.name) for f in dataclasses.fields(type_) if f.default is dataclasses.MISSING],
            "properties": properties,
        }
    return _reference(name)


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}
