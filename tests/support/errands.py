"""Workflows for tests of the whole program: one that answers, one that waits for an event, one that is held up."""

import asyncio
import os
import time
from contextlib import suppress

from pydantic import BaseModel

from interlock import Workflow, activity, event


class Parcel(BaseModel):
    """The payload of `parcel.sent`."""

    parcel_id: str
    not_before_ms: int = 0
    """It is packed once the clock has passed this instant, in milliseconds since 1970."""


class Watch(BaseModel):
    """The payload of `watch.asked`."""

    gate: str
    """A file; the watch is over once it is there."""


@activity
async def answer(input: object) -> object:
    """Gives what it was given, whatever JSON that is."""
    return input


@activity
async def pack(parcel: Parcel) -> str:
    """Takes no time, unless it is too early."""
    # Twice at most, since sleeping and the clock may differ by a little.
    while (early_ms := parcel.not_before_ms - time.time_ns() // 1_000_000) >= 0:  # noqa: ASYNC110 - it awaits a time
        await asyncio.sleep((early_ms + 1) / 1000)
    return parcel.parcel_id


@activity
async def hand_over(signed: object) -> object:
    """Gives what resumed the run."""
    return signed


@activity
async def watch(watch: Watch) -> str:
    """Goes on until the gate is there, and lets nobody call it off before."""
    while not os.path.exists(watch.gate):  # noqa: ASYNC240 - a look is quick
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
    return "over"


@activity
def stare(watch: Watch) -> str:
    """The same as a plain function: a thread, which nobody can call off."""
    while not os.path.exists(watch.gate):
        time.sleep(0.01)
    return "over"


errands = Workflow("errands").on(event("errand.asked")).then(answer)
hurries = (
    Workflow("hurries", checkpoints="coalesced")
    .on(event("hurry.asked"))
    .then(answer)
    .then(answer, id="again", inputs={"input": "answer"})
    .then(answer, id="once_more", inputs={"input": "again"})
)
parcels = (
    Workflow("parcels", input=Parcel)
    .on(event("parcel.sent"))
    .then(pack)
    .wait_for(event("parcel.signed"), correlate="parcel_id", id="signed")
    .then(hand_over)
)
parcels_v2 = parcels.then(answer, id="told", inputs={"input": "hand_over"})
echoes = (
    Workflow("echoes", input=Parcel)
    .on(event("echo.called"))
    .wait_for(event("echo.called"), correlate="parcel_id", id="second")
)
watches = Workflow("watches", input=Watch).on(event("watch.asked")).then(watch)
stares = Workflow("stares", input=Watch).on(event("stare.asked")).then(stare)
