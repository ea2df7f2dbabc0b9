"""Learns which fields kube-apiserver fills in by itself that the table does not know.

A newer kube-apiserver may set a default for a field that nobody has reviewed yet; then every Pod
has it, and its author has not written it. A PodTemplate is created as a dry run: that takes no
right to create a Pod. What it has besides is written, with its value, for the gate. Defaults that
kube-apiserver sets in Pods alone are not learnt so: `sallyport preflight` names them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import structlog

from control.loop import Loop
from core.base import names
from core.kubernetes.field_rows import KnownFields, decode_filled, encode_filled
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.known_fields import FILLED, FILLED_KEY
from policies.fields.table import BEYOND, FieldTable, built_in_rows, canonical_json, path_in_pod

INTERVAL_S: Final = 600.0
"""So much later than an upgrade of kube-apiserver it is known at most; no Pod waits for it."""

FIELD_MANAGER: Final = "sallyport-fields"

_log = structlog.get_logger(__name__)

_NAME: Final = {"fieldPath": "metadata.name"}
_GET: Final = {"path": "/", "port": 80}

BARE_SPEC: Final[Mapping[str, Any]] = {
    "containers": [
        {
            "name": "bare",
            "image": "bare.invalid/bare",
            "ports": [{"containerPort": 80}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": _NAME}}],
            "livenessProbe": {"httpGet": _GET},
            "readinessProbe": {"grpc": {"port": 80}},
            "lifecycle": {"preStop": {"httpGet": _GET}},
            "volumeMounts": [{"name": "a", "mountPath": "/a"}],
            "securityContext": {},
            "resources": {"limits": {"cpu": "1"}},
        }
    ],
    "initContainers": [{"name": "first", "image": "bare.invalid/bare"}],
    "securityContext": {},
    "volumes": [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "configMap": {"name": "b"}},
        {"name": "c", "secret": {"secretName": "c"}},
        {"name": "d", "downwardAPI": {"items": [{"path": "d", "fieldRef": _NAME}]}},
        {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "e"}}]}},
        {"name": "f", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}}},
    ],
}  # fmt: skip
"""One of each part to which kube-apiserver gives defaults, with what it must have and no more."""


class FilledFields:
    """Each run asks by a dry run, and writes what differs. `loop` is its loop."""

    def __init__(
        self, objects: Objects, namespace: str, known_fields: Callable[[], KnownFields]
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._known_fields = known_fields
        self.loop = Loop("filled-fields", INTERVAL_S, self.run)

    async def run(self, leadership: Leadership) -> None:
        """Write what kube-apiserver fills in.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: what is written is broken; delete the ConfigMap.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        made = await self._objects.try_create(
            f"/api/v1/namespaces/{self._namespace}/podtemplates",
            {
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": {"generateName": "sallyport-bare-", "namespace": self._namespace},
                "template": {"metadata": {}, "spec": BARE_SPEC},
            },
        )
        found = filled_fields(FieldTable(built_in_rows(), self._known_fields().added), made)
        path = f"/api/v1/namespaces/{self._namespace}/configmaps/{FILLED}"
        live = ((await self._objects.get(path)) or {}).get("data") or {}
        what = f"ConfigMap {FILLED}: data[{FILLED_KEY}]"
        if decode_filled(live.get(FILLED_KEY, "[]"), what) == found:
            return
        _log.warning(
            "kube-apiserver fills in fields that this release does not know; they do not count",
            fields=sorted(each for each, _ in found),
            fix="compare with `sallyport preflight`; docs/operate/fields.md",
        )
        leadership.require()
        await self._objects.apply(path, _config_map(self._namespace, found), FIELD_MANAGER)


def filled_fields(table: FieldTable, made: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return path, from a Pod's root, and value of what a PodTemplate has unknown. Pure."""
    raw = msgspec.json.encode(made)
    return frozenset(
        (path_in_pod(each.everywhere), canonical_json(each.value))
        for each in table.search("", "PodTemplate", raw)
        if each is not None and each != BEYOND
    )


def _config_map(namespace: str, found: frozenset[tuple[str, str]]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": FILLED,
            "namespace": namespace,
            "labels": {names.MANAGED_BY_LABEL: "sallyport"},
        },
        "data": {FILLED_KEY: encode_filled(found)},
    }
