"""ConfigMaps in memory, for what publishes policy bundles in them."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any

from core.base.errors import ClusterError

NAMESPACE = "sallyport-system"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


class Cluster:
    """ConfigMaps in memory, as `kube.client.objects.Objects` and a connection give them."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.server_time: dt.datetime | None = None
        self.pauses: Callable[[], int] = lambda: 1

    async def get(self, path: str, *_: object) -> Any:
        """Return one; as bytes where a connection is asked."""
        await self.pause()
        found = self.kept.get(path)
        return json.dumps(found or {}).encode() if _ else found

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make one; a conflict where there is one."""
        await self.pause()
        path = f"{collection}/{body['metadata']['name']}"
        if path in self.kept:
            raise ClusterError("exists", 409)
        return self._keep(path, body)

    async def replace(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Replace one, as it was read."""
        await self.pause()
        if self.kept[path]["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise ClusterError("changed", 409)
        return self._keep(path, body)

    async def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Set keys of `data`; null takes one away."""
        await self.pause()
        data = {**(self.kept[path].get("data") or {}), **body["data"]}
        kept = {key: value for key, value in data.items() if value is not None}
        return self._keep(path, {**self.kept[path], "data": kept})

    async def pause(self) -> None:
        """Let others go on, as each request does; `pauses` says how often."""
        for _ in range(self.pauses()):
            await asyncio.sleep(0)

    def _keep(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.version += 1
        kept: dict[str, Any] = json.loads(json.dumps(body))
        kept["metadata"]["resourceVersion"] = str(self.version)
        self.kept[path] = kept
        return kept
