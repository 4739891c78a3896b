"""What every blob store promises, and what each does about trouble of its own."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from obstore.store import MemoryStore as ObjectMemory
from obstore.store import S3Store

from interlock.log.blobs.local import LocalBlobs
from interlock.log.blobs.memory import MemoryBlobs, MemoryStore
from interlock.log.blobs.object import ObjectBlobs
from interlock.log.blobs.store import Blobs
from interlock.log.port import Unavailable
from tests.support.ports import free_port

pytestmark = pytest.mark.contract

Open = Callable[[], Blobs]
"""Opens the store under test, as another process would."""


@pytest.fixture(params=["memory", "local", "object"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """A store with nothing in it."""
    if request.param == "memory":
        store = MemoryStore()
        return lambda: MemoryBlobs(store)
    if request.param == "local":
        return lambda: LocalBlobs(tmp_path / "deep" / "blobs")
    bucket = ObjectMemory()
    return lambda: ObjectBlobs(bucket, "s3://bucket")


def digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()


async def test_what_was_put_is_given_to_every_process_byte_for_byte(opened: Open) -> None:
    """Proves: LOG-05"""
    values = [b"", b"\x00", os.urandom(5 << 20)]
    writer = opened()
    for value in values:
        await writer.put(digest(value), value)
    assert [await opened().get(digest(value), len(value)) for value in values] == values


async def test_what_nobody_put_is_not_there(opened: Open) -> None:
    blobs = opened()
    await blobs.put(digest(b"another"), b"another")
    assert await blobs.get(digest(b"nobody"), 100) is None


async def test_no_more_is_given_than_shows_that_it_is_too_much(opened: Open) -> None:
    blobs = opened()
    await blobs.put(digest(b"v"), b"much larger than expected")
    assert await blobs.get(digest(b"v"), 4) == b"much "


async def test_the_same_may_be_put_again_by_several_at_once(opened: Open) -> None:
    """Proves: LOG-05"""
    value = os.urandom(1 << 20)
    stores = [opened() for _ in range(8)]
    await asyncio.gather(*(store.put(digest(value), value) for store in stores))
    await stores[0].put(digest(value), value)
    assert await opened().get(digest(value), len(value)) == value


async def test_a_put_heals_what_was_changed(opened: Open) -> None:
    blobs = opened()
    await blobs.put(digest(b"right"), b"wrong")
    await blobs.put(digest(b"right"), b"right")
    assert await blobs.get(digest(b"right"), 5) == b"right"


async def test_a_directory_that_is_not_there_is_away_and_not_empty(tmp_path: Path) -> None:
    """A mount that comes late must not look like values that are lost."""
    with pytest.raises(Unavailable, match="No such file"):
        await LocalBlobs(tmp_path / "mount").get(digest(b"v"), 1)
    with pytest.raises(Unavailable, match="No such file"):
        await LocalBlobs(tmp_path / "mount", made=False).put(digest(b"v"), b"v")
    assert not os.listdir(tmp_path)


async def test_a_directory_that_can_t_be_written_is_away_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")
    with pytest.raises(Unavailable, match="expected to write a blob"):
        await LocalBlobs(tmp_path / "blobs").put(digest(b"v"), b"v")


async def test_a_value_is_flushed_before_it_is_moved_and_its_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proves: LOG-05 (durable before the commit)."""
    done: list[str] = []
    flush, move = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        done.append(f"flush {Path(os.readlink(f'/proc/self/fd/{descriptor}')).suffix or 'directory'}")
        flush(descriptor)

    def replace(self: Path, target: Path) -> Path:
        done.append("move")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    (tmp_path / "blobs" / digest(b"v")[:2]).mkdir(parents=True)
    await LocalBlobs(tmp_path / "blobs").put(digest(b"v"), b"v")
    assert done == ["flush .part", "move", "flush directory"]


async def test_a_bucket_that_answers_nobody_is_away() -> None:
    port = free_port()
    store = S3Store(
        "bucket",
        endpoint=f"http://127.0.0.1:{port}",
        access_key_id="none",
        secret_access_key="none",
        region="none",
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    blobs = ObjectBlobs(store, "s3://bucket")
    with pytest.raises(Unavailable, match="s3://bucket"):
        await blobs.put(digest(b"v"), b"v")
    with pytest.raises(Unavailable, match="s3://bucket"):
        await blobs.get(digest(b"v"), 1)


@pytest.mark.parametrize("url", ["s3://user:secret@bucket/folder", "s3://bucket?secret=1", "ftp://bucket", "s3:bucket"])
def test_an_address_that_names_no_bucket_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="expected a bucket") as refused:
        ObjectBlobs.at(url)
    assert "secret" not in str(refused.value)
