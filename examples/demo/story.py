"""The story: each chapter does something to the engine and holds what came of it against a count of the input."""

import asyncio
import json
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field

from examples.demo import look
from examples.demo.expected import Expected
from examples.demo.feed import write
from examples.demo.program import DemoFailed, Program
from examples.demo.show import Screen
from examples.orders.generate import PATH, stimuli
from interlock.projections.views import VIEWS

Counts = dict[str, dict[str, int]]
STIMULI, DEAD_LETTERS = "stimuli by outcome", "dead letters by reason"
BY_STATUS, BY_VERSION = "runs by status", "runs by version"

SETTLED_S = 90.0
"""How long a batch of stimuli may take."""
WARM_S = 30.0
"""How long the first look may wait for a view that is warming up, in seconds."""
REPUBLISHED = (2, 5001, 60)
RUSH = (3, 7001, 120)
"""Further stimuli: the seed, the first order's number, and how many orders."""
OUTSTANDING_MIN = 10
"""Runs that have begun and not ended when the process is killed; with fewer the kill would show little."""


@dataclass(slots=True)
class Story:
    """Everything that happened, and what was expected of it."""

    program: Program
    screen: Screen
    expected: Expected = field(default_factory=Expected)
    versions: dict[str, str] = field(default_factory=dict[str, str])
    """Publication id → what it is called here."""
    orders_of: dict[str, int] = field(default_factory=dict[str, int])
    """Version → orders that were written while it had authority: as many runs."""
    killed: dict[str, int] = field(default_factory=dict[str, int])
    """How the runs stood when the process was killed, and what was written until it came back."""
    rebuilt: dict[str, str] = field(default_factory=dict[str, str])
    """View → the digest over its rows, which both copies had."""
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    """`view.table` → its rows, which are the same before and after."""
    found: Counts = field(default_factory=dict[str, dict[str, int]])
    """What was counted last."""

    def tell(self) -> None:
        """All of it. Raises `DemoFailed` at the first thing that doesn't hold."""
        self._begin()
        self._orders()
        self._look_around()
        self._republish()
        self._kill()
        self._rebuild()
        self._drop()

    # ---- chapters ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.screen.chapter("Start the engine and publish the workflow")
        self.screen.command("up", "--app", "examples.orders", "--data", str(self.program.data))
        self.screen.held(f"it serves after {self.program.start():.1f} s, at {self.program.address}")
        self._publish("examples.orders:orders", "v1")

    def _orders(self) -> None:
        self.screen.chapter(f"Write {PATH.name} to the topic `stimuli`, as any client would")
        self._feed(PATH.read_text("utf-8").splitlines(), "v1")
        self._settle()
        self._compare()

    def _look_around(self) -> None:
        self.screen.chapter("Look at it")
        client = self.program.client
        runs = look.all_runs(client)
        self.screen.runs(runs, self.versions)
        run = runs[0].execution_id
        self.screen.history(f"history of run {run[:12]}", client.history(f"execution:{run}").items)
        self.screen.history("history of the slot orders/default", client.history("orders/default").items)
        self.screen.dead_letters(look.everything(lambda after: client.dead_letters(limit=500, after=after)))

    def _republish(self) -> None:
        self.screen.chapter("Publish a changed workflow; what comes now goes to it, and only to it")
        self._publish("examples.orders:orders_v2", "v2")
        self._feed(stimuli(*REPUBLISHED), "v2")
        self._settle()
        self._compare()
        history = self.program.client.history("orders/default").items
        self.screen.history("history of the slot orders/default", history)
        self._holds("the slot has moved twice", [entry.revision for entry in history], [1, 2])

    def _kill(self) -> None:
        self.screen.chapter("Kill the process in the middle of work")
        lines = stimuli(*RUSH)
        half = len(lines) // 2
        self._feed(lines[:half], "v2", pause_s=0.03)
        self.program.kill()
        log_file = self.program.data / "interlock.sqlite"
        runs = asyncio.run(look.runs_in_the_journals(log_file))
        self.screen.said(
            f"SIGKILL. In the journals: {runs.begun} runs begun, {runs.ended} ended, {runs.outstanding} in the middle."
        )
        if runs.outstanding < OUTSTANDING_MIN:
            raise DemoFailed(f"expected {OUTSTANDING_MIN} runs or more in the middle of work, found {runs.outstanding}")
        self._feed(lines[half:], "v2")
        self.screen.said(f"Nobody runs; clients have written {len(lines) - half} further records all the same.")
        self.killed = {"begun": runs.begun, "ended": runs.ended, "writtenWhileDown": len(lines) - half}
        self.screen.held(
            f"it serves again after {self.program.start():.1f} s: the lease of the dead one had to run out"
        )
        self._settle()
        self._compare()

    def _rebuild(self) -> None:
        self.screen.chapter("Rebuild every projection beside the one that serves")
        self.screen.command("projections", "rebuild", "--compare")
        rebuilds = json.loads(self.program.run("projections", "rebuild", "--compare", "--json"))
        for each in rebuilds:
            view, before, after = each["view"], each["replacedDigest"], each["rebuiltDigest"]
            self._holds(f"{view}: digest {after}", (each["state"], bool(before), before), ("done", True, after))
            self.rebuilt[view] = after
        self._holds("every view was rebuilt", sorted(self.rebuilt), sorted(view.name for view in VIEWS))

    def _drop(self) -> None:
        self.screen.chapter("Drop every projection, and let the log make them anew")
        before = look.rows_of_all_views(self.program.data)
        self.program.stop()
        self.screen.held("SIGTERM: the process has ended in order, with 0")
        shutil.rmtree(self.program.data / "views")
        self.screen.said(f"Deleted {self.program.data / 'views'}.")
        self.program.start()
        self._settle()
        after = look.rows_of_all_views(self.program.data)
        for name in sorted(before):
            self._holds(f"{name}: {len(after[name])} rows, none differs", after[name] == before[name], True)
        self.dropped = {name: len(rows) for name, rows in after.items()}
        self._compare()
        self.program.stop()

    # ---- what chapters do --------------------------------------------------------------------------------------

    def _publish(self, target: str, name: str) -> None:
        self.screen.command("publish", target)
        answer = json.loads(self.program.run("publish", target, "--json"))
        self._holds(f"{name} is active: every routing shard decides by it", answer["status"], "active")
        self.versions[answer["publicationId"]] = name
        self.orders_of[name] = 0

    def _feed(self, lines: list[str], name: str, *, pause_s: float = 0.0) -> None:
        """Writes lines while the version `name` has authority."""
        before = len(self.expected.orders)
        self.expected.add(lines)
        self.orders_of[name] += len(self.expected.orders) - before
        asyncio.run(write(self.program.data / "interlock.sqlite", lines, pause_s=pause_s))

    def _settle(self) -> None:
        """Waits until everything that was written is routed and every run has ended, and lets a person see it."""
        client, expected = self.program.client, self.expected
        wanted = (expected.distinct, expected.dead_letters, len(expected.orders))
        deadline = time.monotonic() + SETTLED_S
        seen: str | None = None
        found = (0, 0, 0)
        with self.screen.console.status("") as status:
            while found != wanted:
                if time.monotonic() > deadline:
                    raise DemoFailed(
                        f"expected {wanted} stimuli, dead letters and completed runs within {SETTLED_S:g} s, "
                        f"found {found}"
                    )
                # The first look may meet a view that is warming up after a restart, which is waited for.
                counts = client.counts(wait_s=1.0 if seen else WARM_S, seen=seen)
                seen = counts.mark
                rejected = sum(look.dead_letters_by_reason(client).values())
                found = (sum(counts.stimuli.values()), rejected, counts.runs.get("completed", 0))
                status.update(
                    f"{found[0]} of {wanted[0]} stimuli routed, {found[1]} of {wanted[1]} rejected, "
                    f"{found[2]} of {wanted[2]} runs completed"
                )
            # Every view, those too that were not asked, holds everything that is in the log.
            while any(view.lag for view in client.projections()):
                if time.monotonic() > deadline:
                    raise DemoFailed(f"expected no view to be behind the log, found {client.projections()}")
                time.sleep(0.1)

    def _compare(self) -> None:
        """Holds what the API tells against the count of the input."""
        expected = self._expected()
        self.found = self._found()
        self.screen.counts(self.found, expected)
        for title, counts in expected.items():
            if self.found[title] != counts:
                raise DemoFailed(f"expected {title} to be {counts}, found {self.found[title]}")
        repeated = self.expected.written - self.expected.distinct - self.expected.dead_letters
        self.screen.held(
            f"{self.expected.written} records were written, of which {repeated} repeat others: "
            "everything is as the input says"
        )

    def _found(self) -> Counts:
        """What the API tells, counted one by one."""
        client = self.program.client
        runs = look.all_runs(client)
        return {
            STIMULI: look.stimuli_by_outcome(client),
            DEAD_LETTERS: look.dead_letters_by_reason(client),
            BY_STATUS: dict(Counter(str(run.status) for run in runs)),
            BY_VERSION: dict(Counter(self.versions.get(run.publication_id, run.publication_id) for run in runs)),
        }

    def _expected(self) -> Counts:
        """What the input says: every order is one run of the version that had authority then."""
        expected = self.expected
        orders = len(expected.orders)
        return {
            STIMULI: {
                "started": orders,
                "resumed": len(expected.payments),
                "unmatched": len(expected.unheard),
            },
            DEAD_LETTERS: dict(expected.rejected),
            BY_STATUS: {"completed": orders},
            BY_VERSION: {version: count for version, count in self.orders_of.items() if count},
        }

    def report(self) -> dict[str, object]:
        """What was seen, for `demo.json`."""
        stimuli = self.found.get(STIMULI, {})
        return {
            "stimuli": {
                "written": self.expected.written,
                "distinct": sum(stimuli.values()),
                "byOutcome": stimuli,
            },
            "runs": {"byStatus": self.found.get(BY_STATUS, {}), "byVersion": self.found.get(BY_VERSION, {})},
            "publications": {version: publication for publication, version in self.versions.items()},
            "deadLetters": {"byReason": self.found.get(DEAD_LETTERS, {})},
            "killed": self.killed,
            "rebuilt": self.rebuilt,
            "dropped": self.dropped,
        }

    def _holds(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise DemoFailed(f"expected that {what}: {expected!r}, found {found!r}")
        self.screen.held(what)
