"""What may happen in a simulated run, as data: each kind of thing that users do, and each that goes wrong.

A capability that comes later adds its kinds here; `plan.py` draws them, `clients.py` or `troubles.py` carries them out.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

from tests.simulation.workflows import Cadence

WORKERS: Final = ("p0", "p1", "p2")
"""The processes that own shards."""
HOLDER: Final = "holder"
"""The process that holds the views and answers callers."""
CLIENT: Final = "client"
"""Connections of clients of the log."""
SHARDS: Final = 2
"""Of routing, of executions and of the topic of stimuli."""
VIEWS: Final = ("trigger-index", "slots", "stimuli", "executions", "history")

TEAMS: Final = ("ours", "theirs")
"""Who may own a slot."""

BatchFault = Literal["late ack", "lost ack", "late landing", "never lands", "doubled", "refused"]
Topic = Literal["journal", "inbox", "stimuli", "replies"]
Weather = Literal["slow", "away", "rough"]
Harm = Literal["lost", "foreign", "flipped", "changed"]
Expected = Literal["nothing", "seen", "before", "unheard of"]
Change = Literal["publish", "restore", "unpublish"]
Named = Literal["none", "heard of", "unheard of"]

HARMS: Final[tuple[Harm, ...]] = get_args(Harm)
EXPECTED: Final[tuple[Expected, ...]] = get_args(Expected)
BATCH_FAULTS: Final[tuple[BatchFault, ...]] = get_args(BatchFault)
WEATHERS: Final[tuple[Weather, ...]] = get_args(Weather)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that happens at a time."""

    at_s: float
    """Virtual seconds since the run began."""
    seed: int
    """For what is drawn when it happens."""
    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of faults that items of this class are of; () for what users do."""

    @property
    def fault(self) -> str:
        """The kind of fault that it is; "" for what users do."""
        return self.kinds[0] if self.kinds else ""


# ---- what users do ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishItem(Item):
    """A definition is published, by one client or by several at once that have seen the same revision."""

    command_id: str
    definition: int
    """Index of `DEFINITIONS`."""
    version: int
    cadence: Cadence | None
    slot: str | None
    rivals: int = 1
    """How many publish at once, each another version, all expecting the revision seen last."""
    apart: bool = False
    """Whether the others publish in the slot `second`, where only what each of them claims may stand against them."""
    expects: Expected = "nothing"
    """Which revision of the slot is expected."""
    broken: bool = False
    """Whether the document is one that is refused."""
    patient: bool = True
    """Whether the client asks until it is answered, or gives up at the first doubt."""
    owner: str = ""
    """The team whose the slot shall be; "" names nobody."""
    take_over: bool = False
    """Whether another owner is no obstacle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotItem(Item):
    """A slot is emptied, or gets back what it selected before."""

    command_id: str
    definition: int
    """Index of `DEFINITIONS`."""
    slot: str | None
    restores: bool
    expects: Expected = "nothing"
    owner: str = ""
    """The team that asks, and whose the slot then is; "" names nobody."""
    take_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusItem(Item):
    """A stimulus is written, one or more times."""

    name: str
    number: int
    """Which order, alert, … it is about."""
    key: str | None
    correlation: str | None
    ttl: str | None
    deliver: str | None
    copies: int = 1
    by_log: bool = True
    """Whether it is written to the topic, or given to the gateway of a process."""
    trial: str = ""
    """The command of the test run that it is meant for; "" for whoever waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedItem(Item):
    """A record is written that becomes a dead letter."""

    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelItem(Item):
    """A run is asked to end: one that has begun, or one that there is none of."""

    command_id: str
    unknown: bool = False
    patient: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightItem(Item):
    """Somebody asks what a publish, a restore or an unpublish would do."""

    definition: int
    version: int
    slot: str | None
    expects: Expected = "nothing"
    owner: str = ""
    """The team that asks; "" names nobody."""
    take_over: bool = False
    of: Change = "publish"
    names: Named = "none"
    """Which publication a restore names."""
    seasoned: bool = False
    """Whether it is of a slot that has changed twice or more as far as clients heard, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialItem(Item):
    """Somebody tries a document, a version, or again what a test run was of: a run that no slot has a part in."""

    command_id: str
    definition: int
    """Index of `DEFINITIONS`."""
    number: int
    """Which order, alert, … it is about."""
    draft: int = 0
    """The version of the document that is tried; 0 where something else is."""
    reference: str = ""
    """The command of the test run whose reference is named; "" where something else is. Neither: a version that was
    published."""
    patient: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnotherItem(Item):
    """Another command is sent under an id that has been given to one."""

    verb: Change | Literal["trial"]
    definition: int
    version: int
    slot: str | None
    of_last: bool
    """Whether it is the id that was given last, whose command is under way mostly; else any."""
    again: bool
    """Whether the first one is then sent once more."""
    patient: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildItem(Item):
    """An operator has a view rebuilt beside the one that serves."""

    view: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyItem(Item):
    """An operator has every row of a view compared with what the journals give."""

    view: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatItem(Item):
    """A command that was answered before is sent again, by a client that doesn't know that it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileItem(Item):
    """An operator has a process compare the rows that it can see with the slots."""

    process: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowItem(Item):
    """A plain client begins to read a journal in the middle, and follows it to the end."""

    context: str
    partition: int


# ---- what goes wrong ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashItem(Item):
    """A process dies at some step of the loop, and comes back later."""

    process: str
    steps: int
    """So many steps of the loop after its time, so that it dies between any two lines that may wait."""
    down_s: float
    deletes: bool = False
    """Whether the files of its views are gone when it comes back."""

    kinds: ClassVar = ("crash", "views deleted")

    @property
    def fault(self) -> str:
        return "views deleted" if self.deletes else "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseItem(Item):
    """A process stands still, and wakes up with all that it believed."""

    process: str
    for_s: float
    replaced: bool
    """Whether its shards are given to others meanwhile."""

    kinds: ClassVar = ("pause",)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveItem(Item):
    """Shards go to other processes, which is nobody's fault and happens with every rebalance."""

    kinds: ClassVar = ("move",)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubleItem(Item):
    """Two processes believe that they own the same shards."""

    for_s: float

    kinds: ClassVar = ("two owners",)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinItem(Item):
    """One process has two engines for a while, which own the same shards over one connection."""

    process: str
    for_s: float

    kinds: ClassVar = ("two owners in one process",)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem(Item):
    """The next batch to a topic of this kind fares badly."""

    kind: BatchFault
    topic: Topic
    delay_s: float

    kinds: ClassVar = BATCH_FAULTS

    @property
    def fault(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class WeatherItem(Item):
    """For a while the log is slow, away or treacherous: for one process, or for all."""

    kind: Weather
    process: str | None
    for_s: float

    kinds: ClassVar = tuple(f"{weather} log" for weather in WEATHERS)

    @property
    def fault(self) -> str:
        return f"{self.kind} log"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderItem(Item):
    """For a while one inbox takes long, so that messages of one commit arrive in another order elsewhere."""

    context: str
    partition: int
    delay_s: float
    for_s: float

    kinds: ClassVar = ("reordering",)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagItem(Item):
    """For a while a process hears late of what publishing decides, and of everything else in time."""

    process: str
    delay_s: float
    for_s: float

    kinds: ClassVar = ("late news",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockItem(Item):
    """A process's clock jumps, and differs from the others' from then on."""

    process: str
    offset_ms: int

    kinds: ClassVar = ("clock",)


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpItem(Item):
    """A process's clock goes wrong by minutes or days, and is set right after a while."""

    process: str
    offset_ms: int
    for_s: float
    restarts: bool
    """Whether the process is started anew meanwhile: then it has to refuse to own anything until its clock is right."""

    kinds: ClassVar = ("clock jump",)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDiskItem(Item):
    """For a while most of what a process writes to its disk fails: rows of views, and snapshots."""

    process: str
    for_s: float

    kinds: ClassVar = ("full disk",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowDiskItem(Item):
    """For a while some of what a process writes to its disk takes long, and the process stands still meanwhile."""

    process: str
    for_s: float

    kinds: ClassVar = ("slow disk",)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropItem(Item):
    """An operator throws the rows of a view away."""

    view: str

    kinds: ClassVar = ("view dropped",)


@dataclass(frozen=True, slots=True, kw_only=True)
class TamperItem(Item):
    """Somebody changes a row of the trigger index that isn't theirs to change; a pass over the rows has to mend it."""

    harm: Harm

    kinds: ClassVar = ("row tampered with",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseItem(Item):
    """A process is stopped in order and comes back with the code of more or fewer versions."""

    process: str
    versions: int
    """The versions below this have code."""

    kinds: ClassVar = ("old code",)


FAULTS: Final = tuple(dict.fromkeys(kind for one in Item.__subclasses__() for kind in one.kinds))
"""Every kind; a run of the usual length has each of them at least once. Derived, so that none is forgotten."""
