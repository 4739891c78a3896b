"""A blob store in a bucket: S3, Google Cloud Storage, Azure, and what speaks like them, through obstore.

Credentials, region and endpoint come from the environment, as the services' own tools take them (`AWS_…`, `GOOGLE_…`,
`AZURE_…`), never from the address: addresses end up in logs. A bucket that isn't there, or that this process may not
read, is away; only a bucket that answers can say that it holds no such value.
"""

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from interlock.log.port import Unavailable

SCHEMES: Final = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl")
"""How addresses begin that name a bucket."""
TRY_S: Final = 20.0
"""How long one value may take, in one or several tries: a send waits for it, and says then that the store is away."""


class ObjectBlobs:
    """Implements `Blobs` over a bucket, or a folder of it."""

    def __init__(self, store: ObjectStore, place: str) -> None:
        self._store = store
        self._place = place

    @classmethod
    def at(cls, url: str) -> "ObjectBlobs":
        """The bucket of an address such as `s3://bucket/folder`. Raises `ValueError` where it names none."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES or not parts.netloc or "@" in parts.netloc or parts.query:
            bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            raise ValueError(
                f"expected a bucket as s3://bucket/folder, gs://bucket/folder or az://container/folder, found {bare!r}"
                f"{' with a password or options' if '@' in parts.netloc or parts.query else ''}; credentials, region "
                "and endpoint belong into the environment"
            )
        limit = timedelta(seconds=TRY_S)
        try:
            store = from_url(url, client_options={"timeout": limit}, retry_config={"retry_timeout": limit})
        except BaseError as error:
            raise ValueError(f"expected to use {url} as a blob store, found: {_first_line(error)}") from error
        return cls(store, url)

    @property
    def place(self) -> str:
        """The address."""
        return self._place

    async def put(self, sha256: str, value: bytes) -> None:
        """Keeps a value, as `Blobs.put` says; what a bucket has acknowledged is durable."""
        try:
            await obstore.put_async(self._store, _path(sha256), value)
        except (BaseError, OSError) as error:
            raise self._away(error) from error

    async def get(self, sha256: str, bytes_max: int) -> bytes | None:
        """The bytes, as `Blobs.get` says."""
        path = _path(sha256)
        try:
            try:
                found = await obstore.get_async(self._store, path)
            except FileNotFoundError:
                # A bucket that isn't there gives the same answer; asked for a list, it does not.
                # (Of its results in another form, which are not asked for, there are no types.)
                others = obstore.list(self._store, prefix=sha256[:2], chunk_size=1)  # pyright: ignore[reportUnknownMemberType]
                await anext(aiter(others), None)
                return None
            if found.meta["size"] > bytes_max:
                return bytes(await obstore.get_range_async(self._store, path, start=0, length=bytes_max + 1))
            return bytes(await found.bytes_async())
        except (BaseError, OSError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(f"expected an answer of the blob store at {self._place}, found: {_first_line(error)}")


def _path(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


def _first_line(error: Exception) -> str:
    """What it says first; the rest is its insides."""
    return (str(error).splitlines() or [type(error).__name__])[0]
