"""A process that publishes: `python -m tests.acceptance.publishers API GATE COUNT REVISION NAME`.

It says "ready", waits until the gate is there, asks for so many publishes at once, each by a connection of its own, and
prints how each was answered as a line of JSON.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from interlock.sdk import ApiError, Client
from interlock.targets import load_target

APP = "tests.support.errands"


def publish(api: str, definition: dict[str, Any], revision: int, command: str) -> dict[str, Any]:
    """Publishes a version of its own from the observed revision; how it was answered."""
    document = json.dumps({**definition, "version": command})
    with Client(api) as client:
        try:
            found = client.publish(document, expect_revision=revision, command_id=command)
        except ApiError as error:
            return {"answer": error.kind, "publication": error.details.get("publicationId", "")}
    return {"answer": found.status, "publication": found.publication_id, "revision": found.revision}


def main() -> None:
    """Does what the command line says."""
    api, gate, count, revision, name = sys.argv[1:]
    definition = json.loads(load_target(f"{APP}:errands"))
    with ThreadPoolExecutor(int(count)) as callers:
        print("ready", flush=True)
        while not Path(gate).exists():
            time.sleep(0.001)
        asked = [
            callers.submit(publish, api, definition, int(revision), f"{name}-{number}") for number in range(int(count))
        ]
        for each in asked:
            print(json.dumps(each.result()), flush=True)


if __name__ == "__main__":
    main()
