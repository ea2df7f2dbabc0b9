"""Provide Kubernetes' own OpenAPI of each minor that is supported, out of k8s.io/kubernetes.

The Go module has it as `api/openapi-spec/swagger.json`. It is downloaded alone, without what it
depends on; what is read of it is kept as JSON in the cache of `provide.py`: Go is asked once.
"""

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.tools.definitions import go_program
from tests.tools.provide import CannotProvideError, cache_folder, locked

MODULE: Final = "k8s.io/kubernetes"

PINS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "1.34": "v1.34.4 h1:Yy6R4QB8C9kJPp25GFqEvX5XQwY5qzKeqD0Xx6oAcmk=",
        "1.35": "v1.35.4 h1:o/8dBC/pHVpYoGV4OAIytAlNPZbdYVTXJHoYvXC4qzM=",
        "1.36": "v1.36.3 h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o=",
        "1.37": "v1.37.2 h1:A2VDEiObzkYqFTKhSsn0ZEb0RlLEXpHWj93gi2HqEwE=",
    }
)
"""Version and sum of the module, by minor: of each the newest that can be had."""

Types = dict[str, dict[str, str]]
"""By type and field: the type of what the field holds, as `core.kubernetes.field_rows` says it."""

_FILE: Final = "api/openapi-spec/swagger.json"
_TIMEOUT_S: Final = 600

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{group}/{kind}": f"{folder}/{kind}"
        for folder, group, kinds in (
            ("core", "", "Pod PodTemplate ReplicationController PersistentVolume Binding Secret"),
            ("core", "", "PersistentVolumeClaim Namespace ServiceAccount"),
            ("apps", "apps", "Deployment ReplicaSet StatefulSet DaemonSet"),
            ("batch", "batch", "Job CronJob"),
            ("node", "node.k8s.io", "RuntimeClass"),
            ("storage", "storage.k8s.io", "StorageClass CSIDriver"),
            ("scheduling", "scheduling.k8s.io", "PriorityClass"),
            ("resource", "resource.k8s.io", "ResourceClaim ResourceClaimTemplate DeviceClass"),
            ("rbac", "rbac.authorization.k8s.io", "Role ClusterRole RoleBinding"),
            ("rbac", "rbac.authorization.k8s.io", "ClusterRoleBinding"),
            ("authentication", "authentication.k8s.io", "TokenRequest"),
            ("certificates", "certificates.k8s.io", "CertificateSigningRequest"),
            ("certificates", "certificates.k8s.io", "PodCertificateRequest"),
            ("networking", "networking.k8s.io", "NetworkPolicy"),
        )
        for kind in kinds.split()
    }
)
"""The type of each kind of Kubernetes' own that is judged or guarded, by group and kind."""


class Minor(NamedTuple):
    """What is read of a minor's OpenAPI."""

    types: Types
    varying: dict[str, list[str]]
    """Fields that some API versions of a type have, and others do not, by type."""


def supported(minor: str) -> Types:
    """Return the fields of the kinds that are judged, as a minor has them.

    Raises:
        CannotProvideError: Go is missing, or the module cannot be had; says what to do.
    """
    return read_minor(minor).types


def read_minor(minor: str) -> Minor:
    """Return what is read of a minor's OpenAPI.

    Raises:
        CannotProvideError: see `supported`.
    """
    path = _path(minor)
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_suffix(".lock")):
        if not path.exists():
            path.write_text(
                json.dumps(_read(json.loads((_downloaded(minor) / _FILE).read_bytes())))
            )
    return Minor(*json.loads(path.read_text()))


def _read(document: dict[str, Any]) -> Minor:
    # tests.tools.provide runs bare:
    from policies.fields.openapi import read_types, type_name  # noqa: PLC0415

    types = read_types([document], KINDS)
    versions: dict[str, list[set[str]]] = {}
    for name, schema in document["definitions"].items():
        versions.setdefault(type_name(name), []).append({*schema.get("properties", ())})
    varying = {
        of: sorted(name for name in set().union(*each) if any(name not in one for one in each))
        for of, each in versions.items()
        if of in types
    }
    return Minor(types, {of: fields for of, fields in varying.items() if fields})


def _path(minor: str) -> Path:
    source = Path(__file__).parents[2] / "policies" / "fields" / "openapi.py"
    digest = hashlib.sha256(Path(__file__).read_bytes() + source.read_bytes()).hexdigest()[:12]
    return cache_folder() / f"openapi-{minor}-{digest}.json"


def _downloaded(minor: str) -> Path:
    version, pinned = PINS[minor].split()
    command = [go_program(), "mod", "download", "-json", f"{MODULE}@{version}"]
    with tempfile.TemporaryDirectory() as elsewhere:  # Outside of any module.
        done = subprocess.run(
            command, cwd=elsewhere, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        why = found.get("Error") or done.stderr.strip()
        raise CannotProvideError(f"{MODULE}@{version} cannot be had: {why}: see `go env GOPROXY`")
    if found["Sum"] != pinned:
        raise CannotProvideError(
            f"{MODULE}@{version} has the sum {found['Sum']}, but tests/tools/openapi.py says "
            f"{pinned}: it is not what was reviewed; look at `go env GOPROXY`"
        )
    return Path(found["Dir"])
