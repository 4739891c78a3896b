"""A loop whose order comes from a seed: what repeats, what is drawn, and what stays in order."""

import asyncio
import threading
from contextvars import ContextVar, copy_context

import pytest

from interlock.testing.virtual_time import Deadlock, SeededLoop, run_virtual

SEEDS = range(20)


def seeded_loop() -> SeededLoop:
    """The loop that runs the caller."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SeededLoop)
    return loop


async def _race() -> str:
    """Three tasks that are always ready, and one timer each; the names of who went, in order."""
    went: list[str] = []

    async def one(name: str) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            went.append(name)
        await asyncio.sleep(1)
        went.append(name.upper())

    await asyncio.gather(*(one(name) for name in "abc"))
    return "".join(went)


def test_one_seed_gives_one_order_and_others_give_others() -> None:
    orders = [run_virtual(_race(), seed=seed) for seed in SEEDS]
    assert orders == [run_virtual(_race(), seed=seed) for seed in SEEDS]
    assert len({order[:9] for order in orders}) > 10
    assert {order[9:] for order in orders} == {"ABC", "ACB", "BAC", "BCA", "CAB", "CBA"}


def test_callbacks_keep_the_order_in_which_they_came_and_run_before_the_next_step() -> None:
    async def main() -> list[str]:
        loop, went = asyncio.get_running_loop(), list[str]()
        done = loop.create_future()
        for name in ("first", "second"):
            done.add_done_callback(lambda _, name=name: went.append(name))  # type: ignore[misc]
        done.set_result(None)
        loop.call_soon(went.append, "third")
        others = [asyncio.create_task(asyncio.sleep(0)) for _ in range(5)]
        await asyncio.sleep(0)
        went.append("step")
        await asyncio.gather(*others)
        return went

    for seed in SEEDS:
        assert run_virtual(main(), seed=seed) == ["first", "second", "third", "step"]


def test_who_waits_for_one_future_goes_on_in_any_order() -> None:
    async def main() -> str:
        gate, went = asyncio.Event(), list[str]()

        async def one(name: str) -> None:
            await gate.wait()
            went.append(name)

        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(one(name))
            await asyncio.sleep(1)
            gate.set()
        return "".join(went)

    assert {run_virtual(main(), seed=seed) for seed in SEEDS} == {"ab", "ba"}


def test_calls_for_threads_run_on_the_loop_and_take_no_time() -> None:
    async def main() -> tuple[set[int], float, str]:
        here = await asyncio.to_thread(threading.get_ident)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.to_thread(next, iter(()))
        never = asyncio.get_running_loop().run_in_executor(None, threading.get_ident)
        never.cancel()
        await asyncio.sleep(1)
        return (
            {here, threading.get_ident()},
            asyncio.get_running_loop().time(),
            "cancelled" if never.cancelled() else "",
        )

    threads, now_s, ended = run_virtual(main(), seed=1)
    assert (len(threads), now_s, ended) == (1, 1.0, "cancelled")


def test_steps_are_counted_and_hooks_come_between_them() -> None:
    async def main() -> tuple[list[tuple[int, str]], int]:
        loop, seen = seeded_loop(), list[tuple[int, str]]()
        me = asyncio.current_task()
        assert me is not None
        loop.after_each(lambda steps, task: seen.append((steps, task.get_name() if task else "thread")), every=2)
        loop.at_step(5, lambda steps, task: seen.append((steps, "once")))
        me.set_name("main")
        for _ in range(3):
            await asyncio.sleep(1)
        await asyncio.to_thread(int)
        await asyncio.sleep(1)
        loop.after_each(None)
        await asyncio.sleep(1)
        return seen, loop.steps

    seen, steps = run_virtual(main(), seed=1)
    assert seen == [(2, "main"), (4, "main"), (5, "once"), (6, "main")]
    assert steps == 8


def test_a_hook_may_wake_what_waits_and_end_the_run() -> None:
    async def woken() -> int:
        never = asyncio.get_running_loop().create_future()
        seeded_loop().at_step(2, lambda steps, _: never.set_result(steps))
        await asyncio.sleep(0)
        return int(await never)

    async def ended() -> None:
        def end(steps: int, task: "asyncio.Task[object] | None") -> None:
            raise LookupError(steps)

        seeded_loop().at_step(3, end)
        for _ in range(100):
            await asyncio.sleep(1)

    assert run_virtual(woken(), seed=1) == 2
    with pytest.raises(LookupError, match="3"):
        run_virtual(ended(), seed=1)


@pytest.mark.parametrize("seed", [None, 1])
def test_a_deadlock_says_which_task_waits_where(seed: int | None) -> None:
    async def main() -> None:
        async def stuck() -> None:
            await asyncio.Event().wait()

        await asyncio.create_task(stuck(), name="the stuck one")

    with pytest.raises(Deadlock, match=r"the stuck one: Event\.wait \(locks\.py:\d+\) < .*stuck \(test_seeded_loop"):
        run_virtual(main(), seed=seed)


PLACE: ContextVar[str] = ContextVar("PLACE", default="")


def test_tasks_that_stand_still_make_no_step_and_wake_up_late() -> None:
    async def main() -> list[tuple[str, float]]:
        loop, went = seeded_loop(), list[tuple[str, float]]()

        async def tick(name: str) -> None:
            for _ in range(4):
                await asyncio.sleep(1)
                went.append((name, loop.time()))

        asleep = copy_context()
        asleep.run(PLACE.set, "asleep")
        tasks = [loop.create_task(tick("a"), context=asleep), loop.create_task(tick("b"))]
        await asyncio.sleep(1.5)
        loop.stand(lambda context: context.get(PLACE) == "asleep")
        await asyncio.sleep(5)
        loop.stand(None)
        await asyncio.gather(*tasks)
        return went

    for seed in SEEDS:
        went = run_virtual(main(), seed=seed)
        assert [at for name, at in went if name == "a"] == [1.0, 6.5, 7.5, 8.5]
        assert [at for name, at in went if name == "b"] == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("seed", [None, 1])
def test_two_who_wait_for_the_rest_of_a_moment_do_not_keep_time_from_passing(seed: int | None) -> None:
    async def main() -> int:
        loop, turns = asyncio.get_running_loop(), 0
        deadline_s = loop.time() + 1e-8

        async def wait(first: int) -> None:
            nonlocal turns
            for _ in range(first):
                await asyncio.sleep(0)
            while loop.time() < deadline_s:
                turns += 1
                assert turns < 100, "expected time to pass, found it standing still"
                await asyncio.sleep(deadline_s - loop.time())
                await asyncio.sleep(0)

        # While one waits for the rest the other is ready, so the loop is never idle.
        await asyncio.gather(wait(0), wait(1))
        return turns

    assert run_virtual(main(), seed=seed) < 10
