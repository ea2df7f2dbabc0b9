"""The risk snapshot of a gate outlives kube-apiserver's absence; a folder can hold one."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.base.background import in_background
from core.base.errors import InvalidObjectError
from core.risk.model import RiskSource
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import HEAD_NAME, build_head, encode_base, encode_head, shard_name
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.folder import FolderCluster
from kube.risk.watch import WatchedRisk, is_older
from tests.unit.core.risk.samples import filled, of_every_sort, rebased
from tests.unit.kube.scripted_server import ScriptedServer, eventually, reply, stream


def secret(name: str, data: dict[str, bytes]) -> dict[str, Any]:
    """Return a Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "s", "resourceVersion": "7"},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def secrets(snapshot: RiskSnapshot) -> list[dict[str, Any]]:
    """Return the Secrets of a snapshot."""
    written = encode_base(snapshot.base.items())
    return [
        secret(HEAD_NAME, encode_head(build_head(snapshot, "a", written.digests))),
        *(
            secret(shard_name("a", number), {"shard": content})
            for number, content in enumerate(written.shards)
        ),
    ]


async def test_risk_snapshot_stays_in_use_while_kube_apiserver_is_away(
    server: ScriptedServer, connection: Connection
) -> None:
    """However long: it says itself as of when it is."""
    snapshot, _ = filled(5)
    head = secret(HEAD_NAME, encode_head(build_head(snapshot, "", ())))
    listed = {"metadata": {"resourceVersion": "7"}, "items": [head]}
    server.answers = [reply(listed), stream(), reply({"message": "not now"}, 503)]
    settings = LiveSettings(
        namespace="s", risk=True, max_staleness_s=0.1, backoff_first_s=0.01, backoff_cap_s=0.02
    )
    watched = WatchedRisk(connection, settings)
    async with in_background(watched.run()):
        await eventually(lambda: "no contact with kube-apiserver" in watched.problem)
        await eventually(lambda: (watched.current() or RiskSnapshot()).head.written > 0)
        found = watched.current()
        assert found is not None
        assert dict(found.records()) == dict(snapshot.records())
        assert watched.missing == ""
        assert server.requests[0]["fieldSelector"] == f"metadata.name={HEAD_NAME}"


async def test_where_risk_decides_nothing_nobody_is_asked(
    server: ScriptedServer, connection: Connection
) -> None:
    """No snapshot, no request, and nothing is waited for."""
    watched = WatchedRisk(connection, LiveSettings(namespace="s"))
    await watched.run()
    assert (watched.current(), watched.missing, server.requests) == (None, "", [])


@pytest.mark.parametrize(
    ("version", "written", "older"),
    [(3, 5.0, False), (2, 5.0, True), (2, 9.0, True), (2, 9.1, False), (4, 1.0, False)],
)
def test_older_is_what_is_behind_by_version_and_by_time(
    version: int, written: float, *, older: bool
) -> None:
    """A lower version that was written later is taken: `control` goes on with a backup."""
    held = RiskSnapshot(type(RiskSnapshot().head)(version=3, written=9.0))
    head = type(held.head)(version=version, written=written)
    assert is_older(build_head(RiskSnapshot(head), "", ()), held) is older


def test_a_folder_can_hold_a_snapshot(tmp_path: Path) -> None:
    """With its shards; without a head there is none, and other Secrets are not read."""
    snapshot = of_every_sort()
    whole = secrets(snapshot)
    other = {**secret("other", {}), "data": {"key": "no base64!"}}
    (tmp_path / "risk.yaml").write_text(yaml.safe_dump_all([*whole, other]))
    found = FolderCluster(tmp_path).risk()
    assert found is not None
    assert dict(found.entries(RiskSource.CAEP)) == dict(snapshot.entries(RiskSource.CAEP))
    assert len(list(found.entries(RiskSource.ENTRA))) == 39
    (tmp_path / "risk.yaml").write_text(yaml.safe_dump(other))
    assert FolderCluster(tmp_path).risk() is None


@pytest.mark.parametrize("missing", [1, 9])
def test_a_folder_with_half_a_snapshot_is_an_error(tmp_path: Path, missing: int) -> None:
    """A shard is not there."""
    whole = secrets(rebased(of_every_sort()))
    del whole[missing]
    (tmp_path / "risk.yaml").write_text(yaml.safe_dump_all(whole))
    with pytest.raises(InvalidObjectError, match="is not the one that the head names"):
        FolderCluster(tmp_path)
