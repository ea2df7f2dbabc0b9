"""ConfigMaps in memory, as kube-apiserver keeps them."""

from collections.abc import Mapping
from typing import Any

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.objects import FIELD_MANAGER, Objects


class Stored(Objects):
    """Keeps what is applied; `broken` has it refuse writes, `writes` counts them."""

    def __init__(self) -> None:
        super().__init__(Connection(None))
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[str] = []
        self.broken = False

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return one."""
        return self.objects.get(path)

    async def apply(
        self, path: str, body: Mapping[str, Any], manager: str = FIELD_MANAGER
    ) -> dict[str, Any]:
        """Keep one."""
        del manager
        if self.broken:
            raise ClusterError("PATCH: 500 broken", 500)
        self.writes.append(path.rpartition("-")[2])
        self.objects[path] = dict(body)
        return self.objects[path]

    async def delete(self, path: str, uid: str = "") -> None:
        """Drop one."""
        del uid
        self.writes.append(f"-{path.rpartition('-')[2]}")
        self.objects.pop(path, None)
