"""The views that the API answers from: read-only, in a process that projects them and in any other on their files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from interlock.projections.executions.query import Executions, SqliteExecutions
from interlock.projections.history.query import History, SqliteHistory
from interlock.projections.reader import ViewReader
from interlock.projections.recorded import Codec
from interlock.projections.slots.query import Slots, SqliteSlots
from interlock.projections.slots.repairs import Repairs, SqliteRepairs
from interlock.projections.stimuli.query import SqliteStimuli, Stimuli
from interlock.projections.views import VIEWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What may be asked."""

    slots: Slots
    repairs: Repairs
    executions: Executions
    stimuli: Stimuli
    history: History
    readers: Mapping[str, ViewReader]
    """View → its file, to ask how far it is."""

    def close(self) -> None:
        """Closes the files."""
        for reader in self.readers.values():
            reader.close()


def open_queries(directory: Path, codec: Codec) -> Queries:
    """Questions to the views in a directory; opens no file before the first question."""
    readers = {view.name: ViewReader(directory, view) for view in VIEWS}
    return Queries(
        slots=SqliteSlots(readers["slots"]),
        repairs=SqliteRepairs(readers["slots"]),
        executions=SqliteExecutions(readers["executions"]),
        stimuli=SqliteStimuli(readers["stimuli"]),
        history=SqliteHistory(readers["history"], codec),
        readers=MappingProxyType(readers),
    )
