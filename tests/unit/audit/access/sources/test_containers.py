"""Blobs in a container of Azure Storage are read as those in a folder are."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from audit.clients.storage_blobs import Containers, ContainerSettings
from audit.clients.storage_session import SCOPE
from core.base.errors import SettingsError, SourceError
from tests.harness.fakes.storage_blobs import TOKEN, FakeBlobs
from tests.harness.programs.pki import Authority
from tests.unit.audit.access.sources.hourly_blobs import LONG_AFTER, READS, hour_name, record, told

WRITES = "insights-logs-storagewrite"


async def _token(scope: str) -> str:
    assert scope == SCOPE
    return TOKEN


@pytest.fixture
async def account(tmp_path: Path) -> AsyncIterator[FakeBlobs]:
    """A storage account that answers."""
    async with FakeBlobs().serving(Authority(tmp_path)) as fake:
        yield fake


@pytest.fixture
async def containers(account: FakeBlobs, tmp_path: Path) -> AsyncIterator[Containers]:
    """What reads it."""
    made = containers_of(account, tmp_path)
    yield made
    await made.close()


def containers_of(account: FakeBlobs, folder: Path, get_token: Any = _token) -> Containers:
    """Return what reads an account; the first repetition comes soon."""
    trust = folder / "ca.crt"
    settings = ContainerSettings(account.site, (READS, WRITES), trust=trust, wait_s=0.01)
    return Containers(settings, get_token)


async def _read(containers: Containers, places: dict[str, str]) -> tuple[list[bytes], Any, Any]:
    settings = HourlySettings(follow=False)
    source = HourlyBlobs("logs", "aks-1", containers, settings, lambda: LONG_AFTER)
    found = []
    async for stretch in source.stretches(dict(places)):
        places[stretch.name] = stretch.end
        found.append(stretch)
    return told(found)


async def test_containers_are_read_page_by_page_and_on_where_they_grow(
    account: FakeBlobs, containers: Containers
) -> None:
    """Only what is new is asked for, with a few bytes before it."""
    account.page = 2
    for hour in range(5):
        account.blobs[hour_name(hour)] = record(1, hour, pad=100)
    account.blobs[hour_name(0, WRITES)] = record(1, 0, pad=100)
    places: dict[str, str] = {}
    assert len((await _read(containers, places))[0]) == 6
    account.blobs[hour_name(3)] += record(2, 3, pad=100)
    account.asked.clear()
    assert await _read(containers, places) == ([record(2, 3, pad=100)], [], [])
    ranges = [asked for _, asked in account.asked if asked]
    assert len(ranges) == 2
    assert all(int(one[6:].partition("-")[0]) <= len(record(1, pad=100)) for one in ranges)


async def test_a_busy_account_is_asked_again(account: FakeBlobs, containers: Containers) -> None:
    """503, 500 and 429 pass; nothing is lost."""
    account.blobs |= {hour_name(0): record(1), hour_name(0, WRITES): record(2)}
    account.faults = [(503, "0"), (500, ""), (429, "")]
    assert len((await _read(containers, {}))[0]) == 2


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([(503, "")] * 5, "HTTP 503"),
        ([(403, "")], "Storage Blob Data Reader"),
        ([(401, "")], "check the tenant"),
        ([(404, "")], "there is no such container"),
        ([(302, "")], "HTTP 302"),
    ],
)
async def test_a_refusal_says_what_to_do(
    account: FakeBlobs, containers: Containers, faults: list[tuple[int, str]], said: str
) -> None:
    """And never what was answered, nor the token."""
    account.faults = list(faults)
    with pytest.raises(SourceError, match=said) as caught:
        await _read(containers, {})
    assert TOKEN not in str(caught.value)


async def test_an_account_that_is_not_there_is_said(
    account: FakeBlobs, containers: Containers, tmp_path: Path
) -> None:
    """The setting is named."""
    account.site = "https://127.0.0.1:1"
    gone = containers_of(account, tmp_path)
    with pytest.raises(SourceError, match=r"weights\.container\.site"):
        await _read(gone, {})
    await gone.close()


async def test_a_blob_that_goes_while_it_is_read_is_none(
    account: FakeBlobs, containers: Containers
) -> None:
    """Retention may take it between the list and the read."""
    assert await containers.read("a/none", 0, 10) == b""
    account.blobs["a/there"] = b"xyz"
    assert await containers.read("a/there", 9, 10) == b""
    assert await containers.read("a/there", 1, 10) == b"yz"


@pytest.mark.parametrize(
    "site", ["http://a", "https://", "https://a/?sv=1&sig=x", "https://user@a", "a"]
)
def test_a_site_must_be_https_and_no_sas(site: str) -> None:
    """A SAS in the settings would be a secret in a place for none."""
    with pytest.raises(SettingsError, match=r"weights\.container\.site"):
        ContainerSettings(site, (READS,))
