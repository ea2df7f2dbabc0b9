"""A registry, a cluster, and `control`'s loop between them."""

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from prometheus_client import CollectorRegistry

from app.processes.control.bundle_source import make_bundle_source
from app.settings.root import Settings
from control.bundles.registry import RegistryImport
from core.policy_bundles import BundleHead, PublishedBundle
from kube.bundles.store import BundleStore
from kube.leader.lease import Leadership
from policies.bundle.format import add_signature
from policies.bundle.signature_keys import SigningKey
from tests.harness.fakes.oci_registry import Registry, registry
from tests.harness.programs.pki import Authority
from tests.harness.worlds.policy_bundles import retitled
from tests.unit.kube.config_maps import NAMESPACE, Cluster

LEADER = Leadership(1, math.inf, time.monotonic)
KEY = ed25519.Ed25519PrivateKey.generate()
FIRST, SECOND = (add_signature(retitled(number), SigningKey(KEY), "b") for number in (1, 2))
NOW = 1_900_000_000.0


@dataclass
class Scene:
    """A registry, a cluster, and control's loop between them."""

    served: Registry
    cluster: Cluster
    settings: Settings
    taking: RegistryImport
    metrics: CollectorRegistry
    now: float = NOW

    def __post_init__(self) -> None:
        """Give it the time of the scene."""
        self.taking.wall = lambda: self.now

    @property
    def store(self) -> BundleStore:
        """What is published."""
        return BundleStore(self.cluster, NAMESPACE)  # type: ignore[arg-type]

    async def look(self) -> BundleHead:
        """Have the loop look once; give the head then."""
        await self.taking.run(LEADER)
        return (await self.store.read()).head

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric."""
        return self.metrics.get_sample_value(name, labels) or 0.0

    def anew(self) -> None:
        """Have another replica lead, which knows nothing."""
        self.metrics = CollectorRegistry()
        made = make_bundle_source(self.settings, self.cluster, self.metrics)  # type: ignore[arg-type]
        assert made is not None
        self.taking = made
        self.taking.wall = lambda: self.now

    def follow(self, tmp_path: Path, **source: Any) -> None:
        """Have it follow what other settings say."""
        self.settings = settings(tmp_path, **source)
        self.anew()

    def check_by(self, check: Callable[[bytes, str], PublishedBundle]) -> None:
        """Have bundles checked otherwise."""

        async def checked(packed: bytes, path: str) -> PublishedBundle:
            return check(packed, path)

        self.taking.image = replace(self.taking.image, check=checked)


def settings(tmp_path: Path, **source: Any) -> Settings:
    """Return the settings of control."""
    public = write_public(KEY, tmp_path / "my.pem")
    section = {"ca_file": tmp_path / "ca.crt", **source}
    return Settings.model_validate(
        {"namespace": NAMESPACE, "bundles": {"keys": {"k": public}, "source": section}}
    )


def write_public(key: ed25519.Ed25519PrivateKey, path: Path) -> Path:
    """Write what the settings name of a key."""
    shown = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.write_bytes(shown)
    return path


@asynccontextmanager
async def scene_in(tmp_path: Path) -> AsyncIterator[Scene]:
    """The first bundle lies in the registry under a tag; nothing is published."""
    async with registry(Authority(tmp_path)) as served:
        known = settings(tmp_path, oci=served.tag("stable", FIRST))
        cluster, metrics = Cluster(), CollectorRegistry()
        taking = make_bundle_source(known, cluster, metrics)  # type: ignore[arg-type]
        assert taking is not None
        yield Scene(served, cluster, known, taking, metrics)
