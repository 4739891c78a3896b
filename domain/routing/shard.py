"""The state of a routing shard: what its events say, in the shape that decisions look things up in.

Always true: it is a function of the events in their order and of `horizon_ms`. `apply` only assigns, and nothing else
changes it, so a replayed shard equals the live one, forgetting included. Every look-up takes constant time, or the
logarithm of what shares its key.

What is older than the dedup horizon is forgotten by the shard's own clock, which is the latest instant that an event
of a stimulus, a wait or a dead letter names; never by a process's clock, since then a replay would forget otherwise
than the live shard did. That also is the right time after an outage: a backlog moves the clock only as it is worked
off, so what is repeated within it is still known. A shard to which nothing comes forgets nothing, and needs no more
memory either. Stimuli are forgotten `horizon_ms` after they were routed, or ended being kept; dead letters after they
were recorded; waits after they ended. A wait that waits and a stimulus that is kept are never forgotten.

What would surprise: that clock stands while nothing comes, so what was kept through a silence counts as ended when the
silence began; where that was a horizon ago, the next event forgets it, and a repetition is new without saying so. And
the payload of a stimulus is kept as long as the stimulus is known, because a wait that was committed before it arrived
may register much later, and meets it all the same (STM-05).
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Final, cast

from interlock.domain.frozen import frozen
from interlock.domain.routing.dead_letter.events import StimulusRejected
from interlock.domain.routing.stimulus.events import (
    StimulusExpired,
    StimulusMatched,
    StimulusReturned,
    StimulusRouted,
)
from interlock.domain.routing.stimulus.state import (
    KeptStimulus,
    KnownStimulus,
    MeetingKey,
    OpenStimuli,
    WaitKey,
    keep_stimuli,
    met_by,
    restored_stimulus,
)
from interlock.domain.routing.wait.events import WaitRegistered, WaitTaken, WaitWithdrawn
from interlock.domain.routing.wait.state import KeptWait, KnownWait, keep_waits, restored_wait

DEDUP_HORIZON_MS: Final = 86_400_000
"""A day: longer than clients retry, and than a shard usually stands still. A setting may say otherwise."""
FORGOTTEN_MAX: Final = 64
"""Things forgotten per event at most, so that no event takes long; each event adds far fewer."""
_number = cast("Callable[[KnownStimulus], int]", attrgetter("number"))
_kept_number = cast("Callable[[KeptStimulus], int]", itemgetter(KeptStimulus._fields.index("number")))


@frozen(kw_only=True)
class KeptRouting:
    """What is kept of a shard, so that its journal needs not be folded from its beginning. Who may meet whom follows.

    It is a function of `horizon_ms` too, which whoever keeps it has to remember with it.
    """

    clock_ms: int
    routed: int
    stimuli: tuple[KeptStimulus, ...]
    waits: tuple[KeptWait, ...]
    waiting: tuple[WaitKey, ...]
    """Those that wait, in the order of their registration."""
    dead_letters: tuple[tuple[int, str], ...]
    """In the order in which they are forgotten."""
    expiries: tuple[tuple[int, int, str], ...]
    old_stimuli: tuple[int, ...]
    """The numbers of what is to be forgotten, in that order."""
    replaced: tuple[KeptStimulus, ...]
    """Stimuli that stand among the old ones only, since others have come under their ids."""
    old_waits: tuple[KeptWait, ...]
    """Those that ended, in the order in which they are forgotten."""


@dataclass(slots=True)
class RoutingShard:
    """Stimuli, waits and dead letters of one shard."""

    horizon_ms: int = DEDUP_HORIZON_MS
    clock_ms: int = 0
    """The latest instant that an event named."""
    routed: int = 0
    """Stimuli routed so far, the forgotten ones included."""
    stimuli: dict[str, KnownStimulus] = field(default_factory=dict[str, KnownStimulus])
    waits: dict[WaitKey, KnownWait] = field(default_factory=dict[WaitKey, KnownWait])
    """Those that wait, and those that ended within the horizon."""
    dead_letters: set[str] = field(default_factory=set[str])
    waiting: dict[MeetingKey, dict[WaitKey, KnownWait]] = field(
        default_factory=dict[MeetingKey, dict[WaitKey, KnownWait]]
    )
    """Those that wait, in the order of their registration."""
    untimed: dict[MeetingKey, OpenStimuli] = field(default_factory=dict[MeetingKey, OpenStimuli])
    """Stimuli without a time to live that may meet waits, which register late."""
    timed: dict[MeetingKey, OpenStimuli] = field(default_factory=dict[MeetingKey, OpenStimuli])
    """Those with one. They are apart because they reach further, and would hide that all others don't."""
    expiries: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    """A heap of (kept until, number, id) with some that are no longer kept, but never at its top."""
    _old_stimuli: deque[KnownStimulus] = field(default_factory=deque[KnownStimulus])
    _old_waits: deque[KnownWait] = field(default_factory=deque[KnownWait])
    _old_dead_letters: deque[tuple[int, str]] = field(default_factory=deque[tuple[int, str]])

    def apply(self, stream: str, event: object) -> None:
        """Takes one event over. Raises `TypeError` for one that is none of routing."""
        match event:
            case StimulusRouted():
                self._routed(event)
            case WaitRegistered():
                self._registered(event)
            case WaitTaken():
                self._ended((event.execution_id, event.bookmark_id), event.stimulus_id)
            case WaitWithdrawn():
                self._ended((event.execution_id, event.bookmark_id), "")
            case StimulusMatched():
                self._matched(event)
            case StimulusReturned():
                self._returned(event)
            case StimulusExpired():
                self._expired(event)
            case StimulusRejected():
                self._rejected(event)
            case _:
                raise TypeError(f"expected an event of routing in {stream}, found {type(event).__name__}")

    def keep(self) -> KeptRouting:
        """All that it is, as of now."""
        stimuli, old = keep_stimuli(self.stimuli.values()), tuple(map(_number, self._old_stimuli))
        # Mostly none, which is found out without looking at each.
        gone = frozenset(old) - frozenset(map(_kept_number, stimuli))
        replaced = {one.number: one for one in self._old_stimuli if one.number in gone} if gone else {}
        return KeptRouting(
            clock_ms=self.clock_ms,
            routed=self.routed,
            stimuli=stimuli,
            waits=keep_waits(self.waits.values()),
            waiting=tuple(wait for waiting in self.waiting.values() for wait in waiting),
            dead_letters=tuple(self._old_dead_letters),
            expiries=tuple(self.expiries),
            old_stimuli=old,
            replaced=keep_stimuli(replaced.values()),
            old_waits=keep_waits(self._old_waits),
        )

    def restore(self, kept: KeptRouting) -> None:
        """Becomes what was kept under the same horizon; whatever it was before is gone."""
        self.clock_ms, self.routed = kept.clock_ms, kept.routed
        by_number = {each.number: restored_stimulus(each) for each in (*kept.stimuli, *kept.replaced)}
        present = [by_number[each.number] for each in kept.stimuli]
        self.stimuli = {stimulus.stimulus_id: stimulus for stimulus in present}
        self._restore_open(present)
        waits = [restored_wait(each) for each in kept.waits]
        self.waits = {wait.wait: wait for wait in waits}
        self.waiting = {}
        for wait_key in kept.waiting:
            wait = self.waits[wait_key]
            self.waiting.setdefault(wait.key, {})[wait_key] = wait
        self.dead_letters = {letter for _, letter in kept.dead_letters}
        self.expiries = list(kept.expiries)
        self._old_stimuli = deque(by_number[number] for number in kept.old_stimuli)
        self._old_waits = deque(self._old_wait(restored_wait(each)) for each in kept.old_waits)
        self._old_dead_letters = deque(kept.dead_letters)

    def _restore_open(self, stimuli: list[KnownStimulus]) -> None:
        by_key: dict[tuple[bool, MeetingKey], list[KnownStimulus]] = {}
        for stimulus in stimuli:
            if stimulus.open:
                by_key.setdefault((stimulus.kept_until_ms is None, stimulus.key), []).append(stimulus)
        self.untimed = {key: OpenStimuli.restored(each) for (untimed, key), each in by_key.items() if untimed}
        self.timed = {key: OpenStimuli.restored(each) for (untimed, key), each in by_key.items() if not untimed}

    def _old_wait(self, old: KnownWait) -> KnownWait:
        """The very wait that is known, where it wasn't registered anew since."""
        known = self.waits.get(old.wait)
        return old if known is None or known != old else known

    def is_kept(self, number: int, stimulus_id: str) -> bool:
        """Whether an entry of `expiries` stands for a stimulus that is still kept."""
        stimulus = self.stimuli.get(stimulus_id)
        return stimulus is not None and stimulus.kept and stimulus.number == number

    # ---- stimuli --------------------------------------------------------------------------------------------------

    def _routed(self, event: StimulusRouted) -> None:
        self._tick(event.arrived_at_ms)
        known = self.stimuli.get(event.stimulus_id)
        if known is not None:
            self._forget_stimulus(known)
        self.routed += 1
        one = event.deliver == "one"
        first = (event.resumes[0].execution_id, event.resumes[0].bookmark_id) if one and event.resumes else None
        stimulus = KnownStimulus(
            stimulus_id=event.stimulus_id,
            key=(event.shell, event.identity, event.correlation),
            number=self.routed,
            arrived_at_ms=event.arrived_at_ms,
            kept_until_ms=event.kept_until_ms,
            one=one,
            data=event.data,
            met=met_by(event),
            taker=first,
            kept=False,
            since_ms=self.clock_ms,
        )
        self.stimuli[event.stimulus_id] = stimulus
        if first is None:
            self._open(stimulus)
        if not stimulus.kept:
            self._queue(stimulus)

    def _matched(self, event: StimulusMatched) -> None:
        stimulus = self.stimuli.get(event.stimulus_id)
        if stimulus is None:
            return
        stimulus.meet(event.execution_id)
        if stimulus.one and stimulus.open:
            self._close(stimulus)
            stimulus.taker = (event.execution_id, event.bookmark_id)
            self._end_keeping(stimulus)

    def _returned(self, event: StimulusReturned) -> None:
        wait_key = (event.execution_id, event.bookmark_id)
        wait = self.waits.get(wait_key)
        if wait is not None:
            wait.taken_by = ""
        stimulus = self.stimuli.get(event.stimulus_id)
        if stimulus is not None and stimulus.taker == wait_key:
            stimulus.taker = None
            self._open(stimulus)

    def _expired(self, event: StimulusExpired) -> None:
        stimulus = self.stimuli.get(event.stimulus_id)
        if stimulus is not None:
            self._end_keeping(stimulus)

    def _open(self, stimulus: KnownStimulus) -> None:
        by_key = self.untimed if stimulus.kept_until_ms is None else self.timed
        stimuli = by_key.get(stimulus.key)
        if stimuli is None:
            stimuli = by_key[stimulus.key] = OpenStimuli()
        stimuli.add(stimulus)
        if stimulus.kept_until_ms is not None:
            stimulus.kept = True
            heapq.heappush(self.expiries, (stimulus.kept_until_ms, stimulus.number, stimulus.stimulus_id))

    def _close(self, stimulus: KnownStimulus) -> None:
        by_key = self.untimed if stimulus.kept_until_ms is None else self.timed
        stimuli = by_key[stimulus.key]
        stimuli.remove(stimulus)
        if not stimuli:
            del by_key[stimulus.key]

    def _end_keeping(self, stimulus: KnownStimulus) -> None:
        if not stimulus.kept:
            return
        stimulus.kept = False
        stimulus.since_ms = self.clock_ms
        self._queue(stimulus)
        self._clean_expiries()

    def _queue(self, stimulus: KnownStimulus) -> None:
        self._old_stimuli.append(stimulus)
        stimulus.queued += 1

    def _clean_expiries(self) -> None:
        expiries = self.expiries
        while expiries and not self.is_kept(expiries[0][1], expiries[0][2]):
            heapq.heappop(expiries)

    # ---- waits and dead letters -----------------------------------------------------------------------------------

    def _registered(self, event: WaitRegistered) -> None:
        self._tick(event.committed_at_ms)
        wait = KnownWait(
            key=(event.shell, event.identity, event.correlation),
            wait=(event.execution_id, event.bookmark_id),
            committed_at_ms=event.committed_at_ms,
            started_by=event.started_by,
        )
        self.waits[wait.wait] = wait
        self.waiting.setdefault(wait.key, {})[wait.wait] = wait

    def _ended(self, wait_key: WaitKey, taken_by: str) -> None:
        wait = self.waits.get(wait_key)
        if wait is None or not wait.waiting:
            return
        wait.waiting = False
        wait.taken_by = taken_by
        wait.ended_ms = self.clock_ms
        waiting = self.waiting[wait.key]
        del waiting[wait_key]
        if not waiting:
            del self.waiting[wait.key]
        self._old_waits.append(wait)

    def _rejected(self, event: StimulusRejected) -> None:
        self._tick(event.rejected_at_ms)
        if event.dead_letter_id not in self.dead_letters:
            self.dead_letters.add(event.dead_letter_id)
            self._old_dead_letters.append((self.clock_ms, event.dead_letter_id))

    # ---- forgetting -----------------------------------------------------------------------------------------------

    def _tick(self, at_ms: int) -> None:
        self.clock_ms = max(self.clock_ms, at_ms)
        before_ms = self.clock_ms - self.horizon_ms
        for _ in range(FORGOTTEN_MAX):
            oldest = self._old_stimuli[0] if self._old_stimuli else None
            if oldest is not None and (oldest.kept or oldest.queued > 1):
                # It was kept again, after a decline; its place is where that ended, or will end.
                self._old_stimuli.popleft()
                oldest.queued -= 1
            elif oldest is not None and oldest.since_ms < before_ms:
                self._old_stimuli.popleft()
                # Another one may have come under its id since.
                if self.stimuli.get(oldest.stimulus_id) is oldest:
                    self._forget_stimulus(oldest)
            elif self._old_waits and self._old_waits[0].ended_ms < before_ms:
                self.waits.pop(self._old_waits.popleft().wait, None)
            elif self._old_dead_letters and self._old_dead_letters[0][0] < before_ms:
                self.dead_letters.discard(self._old_dead_letters.popleft()[1])
            else:
                return

    def _forget_stimulus(self, stimulus: KnownStimulus) -> None:
        if stimulus.open:
            self._close(stimulus)
        del self.stimuli[stimulus.stimulus_id]
        self._clean_expiries()
