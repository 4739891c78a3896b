"""Activities: the functions that do a workflow's work, and the registry of those that a process presents.

An activity is an async or a plain function; plain ones run in a thread. What it takes and gives is JSON, converted by
its annotations: pydantic models, dataclasses, or JSON's own types; without an annotation a value is taken as it is.
What an activity does happens at least once: after a crash it is called again with the same idempotency key.

What would surprise: annotations are read when they are first needed, not when the function is decorated, so types may
be defined below it. A parameter annotated `ActivityContext` is given by the engine and bound to nothing.
"""

import asyncio
import contextvars
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial, update_wrapper
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast, get_type_hints, overload

from pydantic import TypeAdapter, ValidationError

from interlock.domain.definitions.names import name_fault
from interlock.domain.executions.execution.decide import Invocation

THREADS_MAX: Final = 64
"""Plain activities of one process that run at once; further ones wait. A thread that waits for I/O costs little."""
_THREADS: Final = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="activity")
"""Their own, so that slow activities never keep the log from a thread; none is started before it is needed."""

P = ParamSpec("P")
R = TypeVar("R")
JsonSchema = dict[str, object]


class AuthoringError(ValueError):
    """A workflow or an activity is put together wrongly; the message says what was expected, found, and what to do."""


class InvalidInput(ValueError):
    """An activity was given something else than its parameters ask for."""


class InvalidOutput(ValueError):
    """The result of an activity can't be written as JSON."""


class ActivityExited(RuntimeError):
    """An activity wanted to end the process, which is not its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityContext:
    """What an activity may know of the run that calls it."""

    execution_id: str
    node_id: str
    attempt: int
    """From 1."""
    idempotency_key: str
    """The same for every call of this attempt, after a crash too; hand it on to whatever the activity calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter that is bound to a source."""

    name: str
    annotation: object
    """Its type; `typing.Any` where none is written."""
    required: bool
    """Whether it has no default."""


class Activity(Generic[P, R]):
    """A function under the name by which workflows call it. Calling it calls the function, as tests like to."""

    def __init__(self, function: Callable[P, R], name: str) -> None:
        if fault := name_fault(name):
            raise AuthoringError(f"For the activity {function.__qualname__}: {fault}.")
        self.name = name
        """The name in documents; a process that serves a run presents code under it."""
        self.function = function
        self.function_name: str = getattr(function, "__name__", name)
        """The id of a step that calls it, if the workflow gives it no other."""
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself, without any engine."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<activity {self.name!r}: {self.function.__module__}.{self.function.__qualname__}>"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that a workflow binds, in order; the context is none of them."""
        signature = inspect.signature(self.function)
        found: list[Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise AuthoringError(
                    f"Expected parameters of activity {self.name!r} that can be given by name, found {parameter}; "
                    "name each one."
                )
            if parameter.name != self.context_parameter:
                annotation = self._hints.get(parameter.name, Any)
                required = parameter.default is parameter.empty
                found.append(Parameter(name=parameter.name, annotation=annotation, required=required))
        return tuple(found)

    @cached_property
    def context_parameter(self) -> str | None:
        """The parameter that takes the context; None if it wants none."""
        return next((name for name, hint in self._hints.items() if hint is ActivityContext and name != "return"), None)

    @property
    def result(self) -> object:
        """The type that it gives; `typing.Any` where none is written."""
        return self._hints.get("return", Any)

    def result_schema(self) -> JsonSchema | None:
        """The JSON Schema of what it gives; None where no type is written."""
        if self.result is Any:
            return None
        return self._result_adapter.json_schema(mode="serialization")

    async def call(self, inputs: Mapping[str, str], context: ActivityContext) -> str:
        """Calls the function with inputs in JSON and gives its result in JSON.

        Raises `InvalidInput` where the inputs don't fit the parameters, and whatever the function raises.
        """
        arguments = self._arguments(inputs)
        if self.context_parameter is not None:
            arguments[self.context_parameter] = context
        try:
            result = await self._run(arguments)
        except SystemExit as error:
            # It would end the process, and every other run with it.
            raise ActivityExited(
                f"Expected activity {self.name!r} to return, found that it exits ({error})."
            ) from error
        # A result is held against its annotation before it is recorded: what others draw on is what was promised.
        valid = self._result_adapter.validate_python(result)
        plain = self._result_adapter.dump_python(valid, mode="json", by_alias=True, warnings="error")
        try:
            return json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        except ValueError as error:
            # JSON has no infinity; written as null it would be another value than the one that was promised.
            raise InvalidOutput(
                f"Expected finite numbers in the result of activity {self.name!r}, found one that is not ({error})."
            ) from error

    async def _run(self, arguments: dict[str, object]) -> object:
        function = cast("Callable[..., object]", self.function)
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        context = contextvars.copy_context()
        call = partial(context.run, partial(_in_thread, function, arguments))
        return await asyncio.get_running_loop().run_in_executor(_THREADS, call)

    def _arguments(self, inputs: Mapping[str, str]) -> dict[str, object]:
        wanted = {parameter.name for parameter in self.parameters if parameter.required}
        known = {parameter.name for parameter in self.parameters}
        if not wanted <= inputs.keys() <= known:
            raise InvalidInput(
                f"Expected the inputs {_listed(wanted)} of activity {self.name!r}, found {_listed(inputs)}; "
                "the code here is not the one that the workflow was published with."
            )
        arguments: dict[str, object] = {}
        for name, text in inputs.items():
            try:
                arguments[name] = self._adapters[name].validate_json(text)
            except ValidationError as error:
                raise InvalidInput(_misfit(self.name, name, error)) from error
        return arguments

    @cached_property
    def _hints(self) -> dict[str, object]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _adapters(self) -> "dict[str, TypeAdapter[object]]":
        return {parameter.name: adapter_of(parameter.annotation) for parameter in self.parameters}

    @cached_property
    def _result_adapter(self) -> "TypeAdapter[object]":
        return adapter_of(self.result)


AnyActivity = Activity[..., Any]
"""Whatever it takes and gives."""


@overload
def activity(function: Callable[P, R], /) -> Activity[P, R]: ...
@overload
def activity(*, name: str) -> Callable[[Callable[P, R]], Activity[P, R]]: ...
def activity(
    function: Callable[P, R] | None = None, /, *, name: str = ""
) -> Activity[P, R] | Callable[[Callable[P, R]], Activity[P, R]]:
    """Makes a function an activity, under its own name or another one. Raises `AuthoringError` for a bad name."""
    if function is not None:
        return Activity(function, function.__name__)
    return lambda decorated: Activity(decorated, name)


class Activities:
    """The activities that a process presents, by name."""

    def __init__(self, activities: Iterable[AnyActivity] = ()) -> None:
        """Raises `AuthoringError` where two of them have one name."""
        self._by_name: dict[str, AnyActivity] = {}
        for presented in activities:
            there = self._by_name.setdefault(presented.name, presented)
            if there is not presented:
                raise AuthoringError(
                    f"Expected one activity of the name {presented.name!r}, found {there} and {presented}; "
                    'give one of them another with @activity(name="…").'
                )

    @property
    def names(self) -> tuple[str, ...]:
        """What it presents, sorted."""
        return tuple(sorted(self._by_name))

    @property
    def presented(self) -> tuple[AnyActivity, ...]:
        """What it presents, in the order in which it was given."""
        return tuple(self._by_name.values())

    def serves(self, name: str) -> bool:
        """Whether the code of an activity is here."""
        return name in self._by_name

    async def call(self, name: str, inputs_json: Mapping[str, str], context: ActivityContext) -> str:
        """Calls an activity with inputs in JSON and gives its result in JSON; raises whatever it raises.

        Raises `LookupError` where it isn't here, which `serves` would have said.
        """
        presented = self._by_name.get(name)
        if presented is None:
            raise LookupError(f"Expected an activity of {_listed(self.names)}, found {name!r}.")
        return await presented.call(inputs_json, context)

    async def invoke(self, invocation: Invocation) -> str:
        """Calls the activity that a run owes."""
        context = ActivityContext(
            execution_id=invocation.execution_id,
            node_id=invocation.node_id,
            attempt=invocation.attempt,
            idempotency_key=invocation.idempotency_key,
        )
        return await self.call(invocation.activity, invocation.inputs, context)


def _in_thread(function: Callable[..., object], arguments: dict[str, object]) -> object:
    """Calls a plain function. A future can't carry `StopIteration`: whoever awaits it would wait for ever."""
    try:
        return function(**arguments)
    except StopIteration as error:
        raise RuntimeError("an activity raised StopIteration") from error


def adapter_of(type_: object) -> "TypeAdapter[object]":
    """What converts values of a type, read from an annotation, from and to JSON."""
    return TypeAdapter(cast("type[object]", type_))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _misfit(activity_name: str, parameter: str, error: ValidationError) -> str:
    """What doesn't fit, without the values: they may be private, and the message ends in the run's history."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in (parameter, *first["loc"]))
    return f"Expected {place!r} of activity {activity_name!r} as its type says, found otherwise: {first['msg']}."
