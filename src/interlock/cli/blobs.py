"""What `interlock doctor` says of the blob store: whether it answers, and whether all processes can see the same."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from interlock.cli.finding import Finding
from interlock.log.port import Unavailable
from interlock.runtime import compose
from interlock.runtime.settings import Settings

WHAT: Final = "blobs"
NOBODYS: Final = "0" * 64
"""A digest that no value has, to ask for."""
HERE: Final = ("localhost", "127.0.0.1", "::1")


async def look_at_blobs(settings: Settings) -> Finding:
    """Asks the store for what it can't have, so that nothing has to be written."""
    try:
        blobs, directory = compose.open_blobs(settings), compose.blobs_directory(settings)
    except compose.UnknownLog as error:
        return Finding(what=WHAT, ok=False, found=str(error), remedy="mend INTERLOCK_BLOBS")
    if directory is not None and not settings.blobs and _is_elsewhere(settings):
        return Finding(
            what=WHAT,
            ok=False,
            found=f"{directory.absolute()}, which is this machine's, while the log is shared with others",
            remedy="set INTERLOCK_BLOBS to a bucket, or to a directory that every process sees",
        )
    if directory is None or settings.blobs or directory.exists():
        try:
            await blobs.get(NOBODYS, 0)
        except Unavailable as error:
            remedy = "see that it can be reached and read; until then what is large is neither written nor read"
            return Finding(what=WHAT, ok=False, found=str(error), remedy=remedy)
    return Finding(what=WHAT, ok=True, found=f"{blobs.place}{_shared(settings, directory)}")


def _is_elsewhere(settings: Settings) -> bool:
    """Whether other machines share the log, as far as its address says."""
    url = urlsplit(settings.log_url)
    hosts = (each.rpartition(":")[0].strip("[]") for each in url.netloc.split(","))
    return url.scheme == "kafka" and any(host not in HERE for host in hosts)


def _shared(settings: Settings, directory: Path | None) -> str:
    if directory is None or not settings.log_url.startswith("kafka:"):
        return ""
    return ", which every process of this installation has to see"
