"""An anchor that is a ConfigMap of another cluster: the last heads of the log, without marks."""

from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from audit.ledger.log.heads import TreeHead, decode_head, encode_head
from core.base.errors import ClusterError, LedgerError
from kube.client.connection import Connection
from kube.client.objects import Objects

KEY: Final = "heads.jsonl"
"""Of the ConfigMap's `data`: a head a line, the newest last."""

MOST_HEADS: Final = 1000
"""Kept: some 400 KB of the 1 MiB that a ConfigMap holds."""

_ATTEMPTS: Final = 3


class ConfigMapAnchor:
    """Keeps heads in a ConfigMap, which it makes where it is missing."""

    keeps_marks = False

    def __init__(
        self, kubeconfig: Path, namespace: str, name: str, most_heads: int = MOST_HEADS
    ) -> None:
        """Take the kubeconfig of the other cluster, and which ConfigMap of it."""
        self.name = f"ConfigMap {namespace}/{name}"
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._own = name
        self._most_heads = most_heads
        self._connection = Connection(kubeconfig)
        self._objects = Objects(self._connection)
        self._is_open = False

    async def close(self) -> None:
        """Close every connection."""
        if self._is_open:
            self._is_open = False
            await self._connection.close()

    async def reached(self) -> int:
        """Return the size of the last head there.

        Raises:
            LedgerError: it cannot be read, or holds something else.
        """
        heads = self._heads(await self._read())
        return heads[-1].size if heads else 0

    async def publish(self, head: TreeHead, marks: bytes) -> None:  # noqa: ARG002 (Anchor's)
        """Keep a head; marks have no room here.

        Raises:
            LedgerError: it is not kept.
        """
        for _ in range(_ATTEMPTS):
            body = await self._read()
            heads = self._heads(body)
            if heads and heads[-1].log != head.log:
                raise self._failed(f"it is of the log {heads[-1].log}: name another one")
            if heads and heads[-1].size >= head.size:
                return
            kept = [*heads, head][-self._most_heads :]
            if await self._write(body, kept):
                return
        raise self._failed("others write to it all the time")

    async def _read(self) -> dict[str, Any] | None:
        try:
            if not self._is_open:
                await self._connection.open()
                self._is_open = True
            return await self._objects.get(f"{self._collection}/{self._own}")
        except ClusterError as error:
            raise self._failed(str(error)) from None

    async def _write(self, body: dict[str, Any] | None, heads: list[TreeHead]) -> bool:
        """Write heads; say whether nobody else wrote meanwhile."""
        data = {KEY: "".join(f"{encode_head(each).decode()}\n" for each in heads)}
        try:
            if body is None:
                made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._own}}
                await self._objects.create(self._collection, made | {"data": data})
            else:
                data = (body.get("data") or {}) | data
                await self._objects.replace(
                    f"{self._collection}/{self._own}", body | {"data": data}
                )
        except ClusterError as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise self._failed(str(error)) from None
        return True

    def _heads(self, body: dict[str, Any] | None) -> list[TreeHead]:
        text = ((body or {}).get("data") or {}).get(KEY, "")
        try:
            return [decode_head(line.encode()) for line in text.splitlines()]
        except ValueError as error:
            raise self._failed(f"data[{KEY}] holds something else ({error})") from None

    def _failed(self, says: str) -> LedgerError:
        return LedgerError(f"the anchor {self.name}: {says}")
