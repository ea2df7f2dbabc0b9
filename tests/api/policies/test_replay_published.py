"""Replay compares with what is in force: the bundle that is published and active, where one is."""

import asyncio
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from policies.bundle.format import read_bundle
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, read_objects
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.helm import CRDS
from tests.harness.worlds.replayed_reviews import Scene, make_scene

SECONDS = 120.0


@dataclass
class Site:
    """A ledger, and a namespace in which bundles may be published."""

    scene: Scene
    folder: Path
    kubeconfig: Path

    async def policy(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `sallyport policy …` with its cluster."""
        where = ("--kubeconfig", self.kubeconfig, "--config", self.folder / "settings.yaml")
        return await asyncio.to_thread(
            subprocess.run,
            [PROGRAM, "policy", *arguments, *where],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    async def replayed(self) -> Any:
        """Replay the candidate, and give what is answered."""
        flags = ("--bundle", self.scene.candidate, "--ledger", self.scene.ledger, "--jobs", "1")
        done = await self.policy("replay", *flags, "-o", "json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
async def site(apiserver: ApiServer, client: Client, tmp_path: Path) -> Site:
    """A site of this test's own."""
    await client.apply(read_objects(CRDS / "templates" / "containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    namespace = new_name("replay")
    await client.create_namespace(namespace)
    (tmp_path / "settings.yaml").write_text(json.dumps({"namespace": namespace}))
    scene = await asyncio.to_thread(make_scene, tmp_path, 40)
    return Site(scene, tmp_path, apiserver.kubeconfig())


async def test_the_base_is_the_published_bundle_that_is_active(site: Site) -> None:
    """Not that of one's own settings, as long as one is active."""
    before = await site.replayed()
    assert before["base"]["file"] == ""
    assert before["baseNote"].startswith("it is the built-in bundle: no published bundle is active")
    done = await site.policy("activate", site.scene.base, "--now")
    assert done.returncode == 0, done.stderr
    found = await site.replayed()
    revision = read_bundle(site.scene.base).revision
    assert found["base"] == {"file": f"the published bundle {revision}", "revision": revision}
    assert found["baseNote"] == "it is active in the cluster of --kubeconfig, from base.tar.gz"
    refused = [e["reviews"] for e in found["changes"] if e["effect"] == "newlyRefused"]
    assert refused == [site.scene.anew["newlyRefused"]]
