"""`control` as it is installed takes a signed bundle from a registry, and the gate judges by it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.base.process_names import CONTROL
from policies.bundle.format import add_signature
from policies.bundle.signature_keys import SigningKey
from tests.api.policies.published import until
from tests.api.record.installation import Installation
from tests.harness.fakes.oci_registry import Registry, registry
from tests.harness.programs.apiserver import own_apiserver
from tests.harness.programs.client import Client, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.programs.pki import Authority
from tests.harness.worlds.policy_bundles import retitled, revision_of

INTERVAL_S = 10
MAY, JUNE = 1_777_593_600, 1_780_272_000
KEY = ed25519.Ed25519PrivateKey.generate()
OLD, NEW = (
    add_signature(retitled(number, built_at), SigningKey(KEY), "b")
    for number, built_at in ((1, MAY), (2, JUNE))
)
FORGED = add_signature(retitled(3, JUNE + 1), SigningKey(ed25519.Ed25519PrivateKey.generate()), "b")


@dataclass
class Scene:
    """The chart's processes with their accounts' rights, and the registry that they are told of."""

    installed: Installation
    client: Client
    served: Registry

    def by(self, packed: bytes) -> bool:
        """Return whether the gate judges by a bundle."""
        return f'revision="{revision_of(packed)}"}} 1' in self.installed.metrics("gate")

    def refused(self) -> bool:
        """Return whether control says that what the tag names now is not taken."""
        return self.installed.metric("control", "sallyport_bundle_source_problem") == 1

    def said(self, words: str) -> bool:
        """Return whether control's log has the words."""
        return words in (self.installed.folder / "control.log").read_text()

    async def leader(self) -> str:
        """Return who holds control's Lease."""
        lease = await self.client.get("coordination.k8s.io/v1", "Lease", CONTROL, NAMESPACE)
        holder: str = lease["spec"]["holderIdentity"]
        return holder


@pytest.fixture
async def scene(tmp_path: Path, helm: Helm) -> AsyncIterator[Scene]:
    """The tag names the older bundle."""
    with closing(ClusterNetwork()) as network:
        for folder in ("apiserver", "registry", "installed"):
            (tmp_path / folder).mkdir()
        with own_apiserver(tmp_path / "apiserver", network.environment) as apiserver:
            async with (
                connect(apiserver) as client,
                registry(Authority(tmp_path / "registry")) as served,
            ):
                image = served.tag("stable", OLD)
                settings = _settings(tmp_path, image)
                installed = Installation(tmp_path / "installed", apiserver, network, settings)
                try:
                    await _install(installed, client, helm, image)
                    yield Scene(installed, client, served)
                finally:
                    installed.stop()


async def test_what_the_tag_names_is_judged_by_unless_it_is_older_or_forged(scene: Scene) -> None:
    """Also after control has started anew; nothing that is refused changes what is in force."""
    await until(lambda: scene.by(OLD))
    scene.served.tag("stable", NEW)
    await until(lambda: scene.by(NEW))
    scene.served.tag("stable", OLD)
    await until(lambda: scene.said("control does not go back by itself"))
    assert scene.refused()
    scene.installed.processes["control"].stop()
    assert await scene.leader() == ""  # Given up: the next need not wait until it runs out.
    scene.served.tag("stable", FORGED)
    await scene.installed.start_control(scene.client)
    await until(lambda: scene.said("has signed it"))
    assert scene.refused()
    assert scene.by(NEW)


def _settings(folder: Path, image: str) -> dict[str, str]:
    """Return what the chart writes into files that are mounted."""
    key = folder / "key.pem"
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    key.write_bytes(public)
    return {
        "SALLYPORT_BUNDLES__KEYS": json.dumps({"site": str(key)}),
        "SALLYPORT_BUNDLES__SOURCE__OCI": image,
        "SALLYPORT_BUNDLES__SOURCE__INTERVAL": str(INTERVAL_S),
        "SALLYPORT_BUNDLES__SOURCE__CA_FILE": str(folder / "registry" / "ca.crt"),
    }


async def _install(installed: Installation, client: Client, helm: Helm, image: str) -> None:
    kubeconfig = installed.apiserver.kubeconfig()
    await client.create_namespace(NAMESPACE)
    await asyncio.to_thread(helm.run, "install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
    source = {"oci": image, "everySeconds": INTERVAL_S, "unsigned": True}
    await asyncio.to_thread(helm.install, kubeconfig, {"bundle": {"source": source}})
    await installed.start_control(client)
    await asyncio.to_thread(installed.start_auditor)
    await installed.start_gate(client)
