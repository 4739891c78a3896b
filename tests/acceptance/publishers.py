"""A process that publishes: `python -m tests.acceptance.publishers API GATE COUNT REVISION NAME [PATH]`.

It says "ready", waits until the gate is there, asks for so many publishes at once, each by a connection of its own, and
prints how each was answered as a line of JSON. Without PATH all are versions of one definition; with it each is of a
definition of its own that claims this endpoint, and was looked ahead at before.
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


def written(definition: dict[str, Any], command: str, path: str) -> str:
    """The document of one publish."""
    if not path:
        return json.dumps({**definition, "version": command})
    endpoint = {"type": "http", "method": "POST", "path": path}
    return json.dumps({**definition, "name": command, "triggers": [endpoint]})


def look(api: str, document: str) -> None:
    """Nothing may stand against it yet."""
    with Client(api) as client:
        found = client.preflight(document)
    assert found.action in ("fill", "replace"), found


def publish(api: str, document: str, revision: int, command: str) -> dict[str, Any]:
    """Publishes from the observed revision; how it was answered."""
    with Client(api) as client:
        try:
            found = client.publish(document, expect_revision=revision, command_id=command)
        except ApiError as error:
            against = [conflict.publication_id for conflict in error.conflicts]
            return {
                "answer": error.kind,
                "publication": error.details.get("publicationId", ""),
                "against": against,
            }
    return {"answer": found.status, "publication": found.publication_id, "revision": found.revision}


def main() -> None:
    """Does what the command line says."""
    api, gate, count, revision, name, *paths = sys.argv[1:]
    definition = json.loads(load_target(f"{APP}:errands"))
    commands = [f"{name}-{number}" for number in range(int(count))]
    documents = {command: written(definition, command, "".join(paths)) for command in commands}
    for document in documents.values():
        look(api, document)
    with ThreadPoolExecutor(int(count)) as callers:
        print("ready", flush=True)
        while not Path(gate).exists():
            time.sleep(0.001)
        asked = [
            callers.submit(publish, api, document, int(revision), command) for command, document in documents.items()
        ]
        for each in asked:
            print(json.dumps(each.result()), flush=True)


if __name__ == "__main__":
    main()
