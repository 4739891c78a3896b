"""What comes next in an execution: pure, over the nodes of its executable in their order.

`next_step` looks at the state only and changes nothing, so it may be asked again at any time, after a crash as well.
"""

from typing import Final, assert_never

from interlock.domain.definitions.executable import ActivityNode, Executable, TimerNode, WaitNode
from interlock.domain.executions.execution.sources import SourceFault, resolve_correlation, resolve_text
from interlock.domain.executions.execution.state import NO_OUTPUT, ExecutionState
from interlock.domain.frozen import frozen


@frozen()
class Invoke:
    """An activity is owed."""

    node: ActivityNode
    inputs: dict[str, str]
    """Parameter → JSON text."""


@frozen()
class CreateBookmark:
    """A wait begins."""

    node: WaitNode
    correlation: str


@frozen()
class SetTimer:
    """A sleep begins."""

    node: TimerNode


@frozen()
class Complete:
    """All nodes are done."""

    output: str
    """JSON: the last node's output."""


@frozen()
class Fault:
    """The next node can't begin."""

    node_id: str
    error_type: str
    error_message: str


@frozen()
class Idle:
    """It waits, is being cancelled, or has ended: nothing is to be done before something comes."""


IDLE: Final = Idle()
NextStep = Invoke | CreateBookmark | SetTimer | Complete | Fault | Idle


def next_step(executable: Executable, state: ExecutionState) -> NextStep:
    """What the execution does next by itself."""
    if state.status != "running":
        return IDLE
    if state.cursor >= len(executable.nodes):
        last = executable.nodes[-1].id if executable.nodes else ""
        return Complete(state.outputs.get(last, NO_OUTPUT))
    node = executable.nodes[state.cursor]
    try:
        match node:
            case ActivityNode():
                return Invoke(node, {name: resolve_text(state, node.id, source) for name, source in node.inputs})
            case WaitNode():
                return CreateBookmark(node, resolve_correlation(state, node.id, node.correlate))
            case TimerNode():
                return SetTimer(node)
    except SourceFault as fault:
        return Fault(node.id, fault.error_type, fault.message)
    assert_never(node)


def activity_at(executable: Executable, state: ExecutionState) -> ActivityNode | None:
    """The activity that is owed or under way, without its inputs; also in a run that is being cancelled."""
    if state.status != "running" and state.status != "cancelling":
        return None
    if state.cursor >= len(executable.nodes):
        return None
    node = executable.nodes[state.cursor]
    return node if isinstance(node, ActivityNode) else None
