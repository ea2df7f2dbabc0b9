"""The Pods of `examples/public`: what well-known software asks of a cluster.

Pod templates are found wherever they lie, so that a new custom kind needs no code here: whatever
holds a list `containers` is the spec of a Pod.
"""

import copy
import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

Pod = dict[str, Any]

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
PUBLIC: Final = EXAMPLES / "public"


def public_manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file, object) for every object of the public manifests; the file is below PUBLIC."""
    yield from copy.deepcopy(_read())


def public_pods() -> Iterator[tuple[str, Pod]]:
    """Yield (name, Pod) for every workload of the public manifests, in one order.

    The name is the file's, and for a file with several templates `#` and where it lies:
    `ray/cluster.yaml#RayCluster/spec.headGroupSpec.template.spec`. The Pod is as its controller
    would make it, less what it adds by itself (owner, hostname, labels); its name is the
    workload's.
    """
    for file, manifests in itertools.groupby(public_manifests(), key=lambda found: found[0]):
        pods = [
            (f"{file}#{manifest['kind']}/{place}", pod)
            for _, manifest in manifests
            for place, pod in pods_of(manifest)
        ]
        for name, pod in pods:
            yield (file if len(pods) == 1 else name), pod


def pods_of(manifest: dict[str, Any]) -> Iterator[tuple[str, Pod]]:
    """Yield (path of its spec, Pod) for every Pod template in an object, itself included."""
    claims = (manifest.get("spec") or {}).get("volumeClaimTemplates") or []
    for place, metadata, spec in _specs(manifest, (), {}):
        pod: Pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _metadata(manifest, metadata),
            "spec": copy.deepcopy(spec),
        }
        if claims:
            # As the StatefulSet controller does: a volume of the same name for each template.
            pod["spec"].setdefault("volumes", []).extend(
                {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-0"}}
                for name in (claim["metadata"]["name"] for claim in claims)
            )
        yield ".".join(place), pod


def _specs(
    node: Any, place: tuple[str, ...], metadata: dict[str, Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]]:
    """Yield (place, metadata beside it, spec) for each spec of a Pod below a node."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _specs(item, (*place[:-1], f"{place[-1]}[{index}]"), {})
    if not isinstance(node, dict):
        return
    if isinstance(node.get("containers"), list):
        yield place, metadata, {key: value for key, value in node.items() if _of_pods(key)}
    for key, value in node.items():
        if key != "containers":
            yield from _specs(value, (*place, key), node.get("metadata") or {})


def _of_pods(field: str) -> bool:
    """Return whether a field beside `containers` is the Pod's, and not KServe's own."""
    return field not in {"workerSpec", "supportedModelFormats"}


def _metadata(manifest: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": manifest["metadata"]["name"].replace(".", "-")}
    for field in ("labels", "annotations"):
        if template.get(field):
            metadata[field] = dict(template[field])
    return metadata


@cache
def _read() -> tuple[tuple[str, dict[str, Any]], ...]:
    return tuple(
        (path.relative_to(PUBLIC).as_posix(), manifest)
        for path in sorted(PUBLIC.rglob("*.yaml"))
        for manifest in yaml.safe_load_all(path.read_text())
    )
