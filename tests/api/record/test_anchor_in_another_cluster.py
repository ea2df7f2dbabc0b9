"""Heads in a ConfigMap of another cluster: kept, and good for verifying."""

import asyncio
from pathlib import Path

import pytest

from audit.clients.anchor_config_map import KEY, ConfigMapAnchor
from audit.ledger.log.problems import Flaw
from core.base.errors import LedgerError
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.unit.audit.ledger.log_verify.honest_log import Scene, verify


async def test_the_last_heads_lie_in_a_config_map(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """A change is known to lie between two of them, and what is younger is not anchored."""
    scene = Scene()
    kept = ConfigMapAnchor(apiserver.kubeconfig(), "default", "ledger-anchor", most_heads=4)
    try:
        for size, head in scene.heads().items():
            if size <= 500:
                await kept.publish(head, b"")
        await kept.publish(scene.heads()[300], b"")
        assert await kept.reached() == 500
        other = Scene(log="ab" * 16).heads()[600]
        with pytest.raises(LedgerError, match="name another one"):
            await kept.publish(other, b"")
    finally:
        await kept.close()
    found = await client.get("v1", "ConfigMap", "ledger-anchor", "default")
    lines = found["data"][KEY].splitlines()
    assert len(lines) == 4
    anchor = tmp_path / "anchor"
    anchor.write_text(found["data"][KEY])
    honest = await asyncio.to_thread(verify, scene.write(tmp_path / "export"), [anchor])
    assert (honest.problems, honest.anchored) == ([], 500)
    scene.records[420] = scene.records[419]
    changed = await asyncio.to_thread(verify, scene.write(tmp_path / "export"), [anchor])
    [differs] = [each for each in changed.problems if each.wrong is Flaw.DIFFERS]
    assert (differs.position, differs.end) == (400, 450)
