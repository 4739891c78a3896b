"""All bugs, by name."""

from typing import Final

from tests.simulation.bugs import Bug
from tests.simulation.bugs.delivery import delivery, masked
from tests.simulation.bugs.executions import executions
from tests.simulation.bugs.journal import journal
from tests.simulation.bugs.publishing import publishing
from tests.simulation.bugs.routing import routing
from tests.simulation.bugs.trials import trials
from tests.simulation.bugs.views import views

BUGS: Final[dict[str, Bug]] = {
    bug.name: bug
    for catalogue in (journal, delivery, routing, executions, publishing, trials, views)
    for bug in catalogue.bugs
}
MASKED: Final[dict[str, Bug]] = {bug.name: bug for bug in masked.bugs}
"""Each of these is made up for by another check."""
