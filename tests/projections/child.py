"""A process of its own at a view; `test_processes.py` starts it, and kills some.

python -m tests.projections.child project LOG DIRECTORY    projects the executions of a SQLite log; prints the
                                                           number of the last append that is stored, and in the
                                                           end, when all are, the digest of the rows
python -m tests.projections.child rebuild LOG DIRECTORY    projects them, and makes them anew beside, or goes on with
                                                           that; prints how many appends the new copy holds and waits
                                                           for a line, each time; in the end "swapped" and the digest
python -m tests.projections.child probe DIRECTORY          asks for the authority until its input ends; then prints
                                                           how often, over how many copies, and what was wrong
"""

import asyncio
import select
import sys
from pathlib import Path

from interlock.log.port import Shard
from interlock.log.sqlite.log import SqliteLog
from interlock.projections.executions.fold import VIEW as EXECUTIONS
from interlock.projections.files import ViewFiles
from interlock.projections.host import ViewHost
from interlock.projections.reader import ViewReader
from interlock.projections.trigger_index.fold import VIEW as TRIGGER_INDEX
from interlock.projections.trigger_index.query import SqliteTriggerIndex
from tests.projections.journals import CODEC, topic_of
from tests.projections.stories import PLACED, SHELL


async def project(log_path: Path, directory: Path) -> None:
    """Projects until everything is stored."""
    log = SqliteLog(log_path)
    shard = Shard(topic_of("executions"), 0)
    host = ViewHost(EXECUTIONS, directory, log=log, topic_ids=log, codec=CODEC, shards=[shard])
    await host.start()
    while not host.caught_up:
        await host.changed(1.0)
        print((await host.status()).shards[0].position.number, flush=True)
    print(host.digest(), flush=True)
    await host.close()
    await log.close()


async def rebuild(log_path: Path, directory: Path) -> None:
    """Fills a second copy, or goes on with one, in steps that the parent allows."""
    log = SqliteLog(log_path)
    shard = Shard(topic_of("executions"), 0)
    host = ViewHost(EXECUTIONS, directory, log=log, topic_ids=log, codec=CODEC, shards=[shard])
    await host.start()
    while not host.caught_up:
        await host.changed(1.0)
    before = (await host.status()).generation
    rebuilding = None if host.working == "rebuild" else asyncio.create_task(host.rebuild())
    done = 0
    while (status := await host.status()).generation == before:
        if status.rebuild is not None and status.rebuild.appends_done > done:
            done = status.rebuild.appends_done
            print(done, flush=True)
            # Nothing of this process goes on until the parent says so.
            sys.stdin.readline()
        await host.changed(0.05)
    if rebuilding is not None:
        await rebuilding
    while host.working:
        # The old copy goes last.
        await host.changed(0.05)
    print("swapped", host.digest(), flush=True)
    await host.close()
    await log.close()


def probe(directory: Path) -> None:
    """Asks again and again; what serves has to be one publication, and never an older one than before."""
    reader = ViewReader(directory, TRIGGER_INDEX)
    files = ViewFiles(directory, TRIGGER_INDEX.name)
    index = SqliteTriggerIndex(reader)
    newest, asked, copies, wrong = -1, 0, set[int | None](), list[str]()
    while not select.select([sys.stdin], [], [], 0)[0]:
        found = [int(binding.publication_id.removeprefix("p")) for binding in index.authoritative(SHELL, PLACED)]
        if len(found) != 1 or found[0] < newest:
            wrong.append(f"{found} behind {newest}")
        newest = max([newest, *found])
        asked += 1
        copies.add(files.serving())
        if asked == 1:
            print("asking", flush=True)
    print(asked, len(copies), wrong, flush=True)
    reader.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["project", log, directory]:
            asyncio.run(project(Path(log), Path(directory)))
        case ["rebuild", log, directory]:
            asyncio.run(rebuild(Path(log), Path(directory)))
        case ["probe", directory]:
            probe(Path(directory))
        case _:
            raise SystemExit(__doc__)
