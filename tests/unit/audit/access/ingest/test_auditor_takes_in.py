"""The auditor takes in what its settings name, and goes on where the last one ended."""

import asyncio
from pathlib import Path

import pytest
import structlog

from app.processes.auditor.weight_logs import ingest_of, open_weights
from app.settings.root import Settings
from app.settings.weights import WeightsEventHub, WeightsNetworks, WeightsSection
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.base.errors import LedgerError, SettingsError
from tests.harness.worlds.storage_logs import lines, resource_id
from tests.unit.audit.access.ingest.training_cluster import CLUSTER, ids

_LOG = structlog.get_logger()


def folder(tmp_path: Path, count: int) -> Path:
    """Make a container of exported logs."""
    hour = f"insights-logs-storageread/resourceId={resource_id()}/y=2026/m=05/d=01/h=09/m=00"
    path = tmp_path / "logs" / hour
    path.mkdir(parents=True, exist_ok=True)
    (path / "PT1H.json").write_bytes(b"".join(raw + b"\n" for raw in lines(count)))
    return tmp_path / "logs"


async def stored(store: Store, count: int) -> None:
    """Wait until so many accesses are in the ledger."""
    async with asyncio.timeout(60):
        while len((await ids(store)).get(FrameKind.ACCESS, [])) < count:  # noqa: ASYNC110 (a database has no events)
            await asyncio.sleep(0.05)


async def test_folder_that_grows(ledger: Store, tmp_path: Path) -> None:
    """A second auditor reads on in the blob where the first one ended."""
    settings = Settings(cluster_id=CLUSTER, weights=WeightsSection(folder=folder(tmp_path, 200)))
    async with open_weights(settings, ledger, _LOG) as first:
        await stored(ledger, 200)
    folder(tmp_path, 300)
    async with open_weights(settings, ledger, _LOG) as second:
        await stored(ledger, 300)
    assert first is not None
    assert second is not None
    assert second.counts.records["folder", "stored"] == 100
    assert second.counts.records["folder", "known"] == 0


async def test_ledger_that_fails_is_tried_again(
    ledger: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not the end of it, and the log says what is wrong."""
    monkeypatch.setattr("app.processes.auditor.weight_logs.AGAIN_S", 0.05)
    fails = iter([True, True, False])
    real = ledger.places

    async def places(cluster: str) -> dict[str, bytes]:
        if next(fails, False):
            raise LedgerError("the ledger is away")
        return await real(cluster)

    monkeypatch.setattr(ledger, "places", places)
    settings = Settings(cluster_id=CLUSTER, weights=WeightsSection(folder=folder(tmp_path, 50)))
    async with open_weights(settings, ledger, _LOG):
        await stored(ledger, 50)


async def test_nothing_to_read(ledger: Store) -> None:
    """Without a source there is no ingest."""
    async with open_weights(Settings(), ledger, _LOG) as ingest:
        assert ingest is None


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (Settings(weights=WeightsSection(folder=Path("/logs"))), "cluster_id"),
        (
            Settings(
                cluster_id="c",
                weights=WeightsSection(networks=WeightsNetworks(nodes=["10.0.0.1/8"])),
            ),
            "weights.networks.nodes",
        ),
        (
            Settings(
                cluster_id="c",
                weights=WeightsSection(event_hub=WeightsEventHub(servers=["a.example.com:9093"])),
            ),
            "weights.event_hub.topics",
        ),
        (
            Settings(cluster_id="c", weights=WeightsSection(tuning={"nonsense": 1.0})),
            "weights.tuning",
        ),
    ],
    ids=["cluster", "network", "topics", "tuning"],
)
async def test_wrong_settings(ledger: Store, settings: Settings, word: str) -> None:
    """The error names the setting and the fix."""
    with pytest.raises(SettingsError, match=word.replace(".", r"\.")):
        async with open_weights(settings, ledger, _LOG):
            ingest_of(settings, ledger)
