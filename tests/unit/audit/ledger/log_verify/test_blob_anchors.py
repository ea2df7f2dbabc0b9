"""Append blobs that keep heads, against a container that lets blobs grow and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from audit.clients.anchor_blob import BlobAnchor, BlobPlace
from audit.ledger.log.leaves import mark_of
from core.base.errors import LedgerError, SettingsError
from tests.harness.fakes.storage_blobs import TOKEN, FakeAppendBlobs
from tests.harness.programs.pki import Authority
from tests.unit.audit.ledger.log_verify.honest_log import ANCHORED, Scene, anchor, verify

SCENE = Scene()


async def token(scope: str) -> str:
    """Return the token that the container takes."""
    assert scope == "https://storage.azure.com/.default"
    return TOKEN


@asynccontextmanager
async def opened(
    blobs: FakeAppendBlobs, authority: Authority, most_blocks: int = 50_000
) -> AsyncIterator[BlobAnchor]:
    """An anchor on the container, as a process has it that begins now."""
    place = BlobPlace(f"{blobs.site}/anchors/prod", authority.certificate_path, 5.0)
    made = BlobAnchor(place, token, most_blocks)
    yield made
    await made.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Who vouches for the container."""
    return Authority(tmp_path)


@pytest.fixture
async def blobs(authority: Authority) -> AsyncIterator[FakeAppendBlobs]:
    """An empty container."""
    async with FakeAppendBlobs().serving(authority) as served:
        yield served


async def publish(kept: BlobAnchor, size: int) -> None:
    """Publish the head of so many records."""
    reached = await kept.reached()
    marks = b"".join(mark_of(each.hash) for each in SCENE.records[reached:size])
    await kept.publish(SCENE.heads()[size], marks)


async def test_blob_anchor_holds_the_lines_of_a_file_anchor(
    tmp_path: Path, blobs: FakeAppendBlobs, authority: Authority
) -> None:
    """Line by line the same, whatever blobs they lie in, also after a new beginning."""
    sizes = [size for size in SCENE.sizes if size <= ANCHORED]
    async with opened(blobs, authority, most_blocks=3) as kept:
        for size in sizes[:5]:
            await publish(kept, size)
    async with opened(blobs, authority, most_blocks=3) as kept:
        for size in sizes[5:]:
            await publish(kept, size)
        await publish(kept, sizes[-1])
    assert [len(blocks) for blocks in blobs.blobs.values()] == [3, 3, 3, 2]
    as_file = await asyncio.to_thread(anchor, tmp_path / "file")
    assert blobs.content() == as_file.read_bytes()
    assert min(blobs.blobs) == "/anchors/prod/000001.jsonl"


async def test_an_answer_that_is_lost_leaves_no_line_twice(
    tmp_path: Path, blobs: FakeAppendBlobs, authority: Authority
) -> None:
    """The block was appended; the next beat sees that it is there."""
    async with opened(blobs, authority) as kept:
        await publish(kept, 20)
        blobs.lose = 1
        with suppress(LedgerError):  # aiohttp may ask again by itself.
            await publish(kept, 50)
        await publish(kept, 50)
        await publish(kept, 100)
    path = tmp_path / "anchor"
    path.write_bytes(blobs.content())
    assert verify(SCENE.write(tmp_path / "export"), [path]).anchored == 100
    assert len(path.read_bytes().splitlines()) == 3


async def test_two_processes_keep_one_chain(
    tmp_path: Path, blobs: FakeAppendBlobs, authority: Authority
) -> None:
    """Who finds that the other appended looks again, and goes on after it."""
    async with opened(blobs, authority) as one, opened(blobs, authority) as other:
        for size, kept in zip(SCENE.sizes, [one, other] * 10, strict=False):
            await publish(kept, size)
    path = tmp_path / "anchor"
    path.write_bytes(blobs.content())
    verdict = verify(SCENE.write(tmp_path / "export"), [path])
    assert (verdict.problems, verdict.anchored) == ([], 600)


async def test_a_policy_that_allows_no_appends_is_named(
    blobs: FakeAppendBlobs, authority: Authority
) -> None:
    """The message says what to allow, and holds no token."""
    blobs.immutable = True
    async with opened(blobs, authority) as kept:
        with pytest.raises(LedgerError, match="must allow protected append writes") as raised:
            await publish(kept, 20)
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["http://a/b", "https://a", "https://a/b?sig=secret", "https://u:p@a/b"]
)
def test_a_place_that_cannot_be_one_is_refused(url: str) -> None:
    """Nothing but HTTPS, a container, and no SAS in the settings."""
    with pytest.raises(SettingsError, match=r"ledger\.anchors: blob: must be https") as raised:
        BlobPlace(url)
    assert "secret" not in str(raised.value)
