"""Writes what is registered with kube-apiserver."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from control.registrations.comparison import lacking_annotations, with_ca
from control.registrations.registration import Registration
from core.base import names
from kube.client.objects import FIELD_MANAGER, Objects
from kube.leader.lease import Leadership

_HELM: Final = "helm"
"""Helm's field manager (Helm 4). What is created again is created in its name, so that the next
upgrade finds no conflict, and takes the owner away again."""

_OWNER_KIND: Final = "ClusterRole"
_OWNER_VERSION: Final = "rbac.authorization.k8s.io/v1"
_OWNER: Final = f"/apis/{_OWNER_VERSION}/clusterroles/sallyport-control"


@dataclass(frozen=True)
class RegistrationWriter:
    """Writes one object at a time, as it was read."""

    objects: Objects

    async def write(self, leadership: Leadership, each: Registration, ca: str) -> bool:
        """Make one as the chart says it; give False where the chart is going.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses, or somebody changed it.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        if each.live is None:
            return await self._create(each, ca)
        if "spec" in each.wanted:
            version = each.live["metadata"]["resourceVersion"]
            spec = {"op": "replace", "path": "/spec", "value": each.wanted["spec"]}
            await self.objects.change(each.path, version, [spec])
        else:
            await self._set_webhooks(each, each.live["metadata"], ca)
        return True

    async def disown(self, leadership: Leadership, each: Registration) -> None:
        """Leave the `spec` to whoever installs the chart, where control has written it.

        The next server-side apply of another one would be a conflict.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses, or somebody changed it.
            NotLeaderError: leadership was lost.
        """
        metadata = (each.live or {}).get("metadata") or {}
        managed = metadata.get("managedFields") or []
        others = [entry for entry in managed if entry.get("manager") != FIELD_MANAGER]
        if "spec" not in each.wanted or not others or len(others) == len(managed):
            return
        leadership.require()
        leave = {"op": "replace", "path": "/metadata/managedFields", "value": others}
        await self.objects.change(each.path, metadata["resourceVersion"], [leave])

    async def _set_webhooks(self, each: Registration, metadata: Mapping[str, Any], ca: str) -> None:
        annotations = dict(lacking_annotations(each.wanted, {"metadata": metadata}))
        body: dict[str, Any] = {}
        if each.wanted.get("webhooks"):
            body["webhooks"] = with_ca(each.wanted, ca)["webhooks"]
        if each.asks:
            annotations[names.REGISTERED_ANNOTATION] = each.digest
        version = metadata["resourceVersion"]
        body["metadata"] = {"resourceVersion": version, "annotations": annotations}
        await self.objects.merge(each.path, body)

    async def _create(self, each: Registration, ca: str) -> bool:
        """Create one again, owned by the chart's ClusterRole: with that it goes.

        Where that is gone, or going, so is the chart: nothing may be left that nobody answers.
        """
        owner = await self.objects.get(_OWNER)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return False
        reference = {
            "apiVersion": _OWNER_VERSION,
            "kind": _OWNER_KIND,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        body = with_ca(each.wanted, ca)
        if each.asks:
            del body["webhooks"]  # They are control's own: the chart does not name them.
        metadata = {**body["metadata"], "ownerReferences": [reference]}
        made = await self.objects.apply(each.path, {**body, "metadata": metadata}, _HELM)
        if each.asks:
            await self._set_webhooks(each, made["metadata"], ca)
        return True
