"""Looks once at all that egress depends on: in a folder of YAML, or page by page in a cluster.

Of a cluster only the Pods and Services of the namespaces that matter are read: those asked for, and
those that their allowlists name.
"""

from collections.abc import Collection, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

from core.approvals.approvals import CLUSTER_KIND
from core.approvals.approvals import KIND as APPROVAL
from core.base import names
from core.base.errors import ClusterError
from core.egress.allowlists import KIND, SET_KIND, EgressAllowlist, EgressDestinations
from core.egress.destinations import Destination
from kube.approvals.break_glasses import CLUSTER_APPROVALS_PATH
from kube.approvals.watch import APPROVALS_PATH
from kube.client.objects import Objects
from kube.client.paging import each
from kube.egress.allowlists import SETS_PATH
from kube.egress.snapshot import Looking, Snapshot
from kube.egress.watch import ALLOWLISTS_PATH, NAMESPACES_PATH
from kube.manifests.reader import read_paths

_GROUPS: Final = frozenset({"", names.GROUP, "discovery.k8s.io"})

_WHOLE: Final = (
    ("Namespace", NAMESPACES_PATH, False),
    (KIND, ALLOWLISTS_PATH, True),
    (SET_KIND, SETS_PATH, True),
    (APPROVAL, APPROVALS_PATH, True),
    (CLUSTER_KIND, CLUSTER_APPROVALS_PATH, True),
)
"""Kinds that are read whole, with their paths; whether a cluster may lack them."""

_OF_NAMESPACES: Final = (
    ("Pod", "/api/v1", "pods"),
    ("Service", "/api/v1", "services"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1", "endpointslices"),
)

_FEW: Final = 50
"""For more namespaces than that it is quicker to list them all."""


def read_folder(path: Path | None) -> Snapshot:
    """Look at a folder of YAML, or at one file; None holds nothing.

    Raises:
        SettingsError: it does not exist or cannot be read.
        InvalidObjectError: it is no YAML.
    """
    looking = Looking()
    for manifest in read_paths([path] if path else []):
        if manifest.group in _GROUPS:
            looking.take(manifest.kind, manifest.raw, manifest.source)
    return looking.seen


async def read_cluster(
    objects: Objects,
    system_namespace: str,
    within: Collection[str] | None,
    others: Sequence[EgressAllowlist] = (),
) -> Snapshot:
    """Look at a cluster; of `within`, namespaces, None means all.

    `system_namespace` is where Sallyport is installed, and has what was learnt of DNS names. Where
    `others` name namespaces, these are looked at too.

    Raises:
        ClusterError: kube-apiserver does not answer, or lets us list not all of it.
    """
    looking = Looking()
    for kind, path, optional in _WHOLE:
        await _list(objects, looking, kind, path, optional=optional)
    path = f"/api/v1/namespaces/{system_namespace}/configmaps"
    await _list(objects, looking, "ConfigMap", path)
    for place in _places(looking.seen, within, others):
        for kind, root, plural in _OF_NAMESPACES:
            middle = f"/namespaces/{place}" if place else ""
            await _list(objects, looking, kind, f"{root}{middle}/{plural}")
    return looking.seen


def _places(
    seen: Snapshot, within: Collection[str] | None, others: Sequence[EgressAllowlist]
) -> list[str]:
    """Give the namespaces to read Pods of; an empty name stands for all."""
    if within is None:
        return [""]
    chosen = [one for one in seen.allowlists.values() if one.meta.namespace in within]
    found = {*within, *namespaces_named((*chosen, *others), seen.sets.values())}
    return sorted(found) if len(found) <= _FEW else [""]


async def _list(
    objects: Objects, looking: Looking, kind: str, path: str, *, optional: bool = False
) -> None:
    try:
        async for raw in each(objects, path):
            looking.take(kind, raw)
    except ClusterError as error:
        if not (optional and error.status == HTTPStatus.NOT_FOUND):
            message = f"every {kind} at {path} must be listed: {error}"
            raise ClusterError(message, error.status) from None


def namespaces_named(
    allowlists: Iterable[EgressAllowlist], sets: Iterable[EgressDestinations]
) -> frozenset[str]:
    """Give the namespaces whose Pods or Services these name, their own included."""
    found: set[str] = set()
    for allowlist in allowlists:
        found |= {allowlist.meta.namespace, *_named(allowlist.spec.to)}
    for one in sets:
        found |= {*_named(one.spec.to)}
    return frozenset(found)


def _named(entries: Sequence[Destination]) -> Iterable[str]:
    inside = (entry.service or entry.pods for entry in entries)
    return (one.namespace for one in inside if one and one.namespace)
