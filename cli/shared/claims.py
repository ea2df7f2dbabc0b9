"""Names the claims of an object of which a folder, in the place of a cluster, knows no volume."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cli.shared.defaults_preview import pod_templates_in
from core.cluster import Cluster
from kube.cluster.folder import FolderCluster

_NAMED: Final = 4
"""Claims that a note names."""


def claim_notes(
    cluster: Cluster | None, kind: tuple[str, str], value: Mapping[str, Any], namespace: str
) -> list[str]:
    """Say which claims a folder binds to nothing; a cluster knows all of its own.

    `kind` has the group first.
    """
    if not isinstance(cluster, FolderCluster):
        return []
    bound = {each.claim for each in cluster.volumes_of_namespace(namespace)}
    names = dict.fromkeys(
        claim
        for template in pod_templates_in(*kind, value)
        for claim in _claims_of(template.pod)
        if f"{namespace}/{claim}" not in bound
    )
    if not names:
        return []
    shown, more = [*names][:_NAMED], " and more" if len(names) > _NAMED else ""
    return [
        f"what the claim{'s' if len(names) > 1 else ''} {', '.join(shown)}{more} will be bound "
        "to is not known: on a file system that others mount too, user 0 and groups below "
        "1000 need a privilege (docs/operate/shared-volumes.md), on a node its path"
    ]


def _claims_of(pod: Mapping[str, Any]) -> Iterator[str]:
    spec = pod.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, dict) else None
    for volume in volumes if isinstance(volumes, list) else ():
        source = volume.get("persistentVolumeClaim") if isinstance(volume, dict) else None
        claim = source.get("claimName") if isinstance(source, dict) else None
        if isinstance(claim, str) and claim:
            yield claim
