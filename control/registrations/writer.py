"""Writes what is registered with kube-apiserver."""

from dataclasses import dataclass
from typing import Any, Final

from control.registrations.comparison import with_ca
from control.registrations.registration import Registration
from core.base import names
from kube.client.objects import FIELD_MANAGER, Objects
from kube.leader.lease import Leadership

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
            await self.objects.change(each.path, [_unchanged(version), spec])
            await self._disown(each)
            return True
        metadata = {
            "resourceVersion": each.live["metadata"]["resourceVersion"],
            "annotations": {names.REGISTERED_ANNOTATION: each.digest},
        }
        webhooks = with_ca(each.wanted, ca)["webhooks"]
        await self.objects.merge(each.path, {"metadata": metadata, "webhooks": webhooks})
        return True

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
        metadata: dict[str, Any] = {**body["metadata"], "ownerReferences": [reference]}
        if each.asks:
            annotations = {**(metadata.get("annotations") or {})}
            annotations[names.REGISTERED_ANNOTATION] = each.digest
            metadata["annotations"] = annotations
        await self.objects.create(each.collection, {**body, "metadata": metadata})
        await self._disown(each)
        return True

    async def _disown(self, each: Registration) -> None:
        """Leave all but webhooks to whoever installs the chart.

        Its next change would be a conflict (server-side apply) with what control has set.
        """
        live = await self.objects.get(each.path)
        if live is None or each.asks:
            return
        metadata = live["metadata"]
        managed = metadata.get("managedFields") or []
        others = [entry for entry in managed if entry.get("manager") != FIELD_MANAGER]
        leave = {"op": "replace", "path": "/metadata/managedFields", "value": others or [{}]}
        await self.objects.change(each.path, [_unchanged(metadata["resourceVersion"]), leave])


def _unchanged(version: str) -> dict[str, Any]:
    return {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
