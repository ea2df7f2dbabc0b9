"""Our own verdict on a Pod for a profile: the product's policies, engine and profiles.

This is the one place where the tests of agreement touch the product.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from core.kubernetes.pod import decode_pod
from core.profiles.container_profiles import ProfileSet, Version, build_profile_set, parse_profile
from policies.build.builder import build
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import encode
from policies.projection.pods import project
from tests.harness.evidence import ROOT
from tests.harness.programs.client import read_objects
from tests.harness.worlds.pods import Pod
from tests.tools.provide import provide

REGO: Final = ROOT / "policies" / "rego"
PROFILES: Final = ROOT / "policies" / "profiles"
_REMEMBERED: Final = 4096


class Verdicts:
    """The built-in policies, compiled from their source, and the shipped profiles."""

    def __init__(self, scratch: Path, cluster_version: Version, profiles: Path = PROFILES) -> None:
        """Compile the bundle into the folder `scratch` and load all that is needed."""
        bundle = scratch / "builtin.tar.gz"
        build(provide("opa"), REGO, bundle)
        self._engine = EmbeddedEngine(read_bundle(bundle))
        self._profiles = _read_profiles(profiles, cluster_version)
        self._privileges = lru_cache(_REMEMBERED)(self._evaluate)

    def judge(self, pod: Pod, profile: str) -> bool:
        """Return whether `profile` covers every privilege that the Pod needs."""
        projection = encode(project(decode_pod(json.dumps(pod).encode())))
        covering = self._profiles.by_name[profile]
        return all(covering.covers(privilege) for privilege in self._privileges(projection))

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()

    def _evaluate(self, projection: bytes) -> frozenset[str]:
        return frozenset(need.privilege for need in self._engine.evaluate(projection).needs)


def _read_profiles(folder: Path, cluster_version: Version) -> ProfileSet:
    """Read every ContainerProfile of the YAML files in a folder."""
    profiles = [
        parse_profile(json.dumps(item).encode())
        for file in sorted(folder.glob("*.yaml"))
        for item in read_objects(file)
        if item["kind"] == "ContainerProfile"
    ]
    return build_profile_set(profiles, cluster_version)


def source_digest(extra: Iterable[str] = ()) -> str:
    """Return a digest of all that a verdict, or the choice of Pods, depends on."""
    digest = hashlib.sha256("\n".join(extra).encode())
    for folder in ("core", "policies", "tests/harness"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in {".py", ".rego", ".yaml"} and not file.stem.endswith("_test"):
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]
