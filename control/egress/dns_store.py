"""Stores resolved DNS names in ConfigMaps, so that a restart opens what was open."""

from collections.abc import Mapping
from typing import Any, Final

import structlog

from core.base import names
from core.base.errors import ClusterError
from egress.dns.learnt_names import LearntName
from egress.dns.store import decode_names, encode_names
from kube.client.objects import Objects
from kube.egress.network_policies import FIELD_MANAGER
from kube.egress.snapshot import NAMES_PREFIX
from kube.leader.lease import Leadership

MOST_SHARDS: Final = 64
"""ConfigMaps, of 256 KiB each: about 50,000 names with 10 addresses."""

_KEY: Final = "names.json"

_log = structlog.get_logger(__name__)


class DnsStore:
    """The ConfigMaps of one cluster, in Sallyport's namespace."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._objects = objects
        self._root = f"/api/v1/namespaces/{namespace}/configmaps"
        self._namespace = namespace
        self._stored: dict[int, bytes] = {}

    async def load(self) -> dict[str, LearntName]:
        """Return what was stored; what is broken is told, and left out.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        found: dict[int, bytes] = {}
        for index in range(MOST_SHARDS):
            live = await self._objects.get(f"{self._root}/{NAMES_PREFIX}{index}")
            if live is not None:
                data = live.get("data") or {}
                found[index] = str(data.get(_KEY, "")).encode()
        self._stored = found
        texts = {f"{NAMES_PREFIX}{index}": each for index, each in found.items()}
        read = decode_names(texts)
        for problem in read.problems:
            _log.error("what was learnt of names is broken: learning anew", problem=problem)
        return read.names

    async def save(self, leadership: Leadership, state: Mapping[str, LearntName]) -> int:
        """Store a state; give how many ConfigMaps were written.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; or there are too many names.
            NotLeaderError: leadership was lost.
        """
        before = max(self._stored, default=0) + 1
        shards = encode_names(state, _power(before))
        if len(shards) > MOST_SHARDS:
            raise ClusterError(f"DNS names need {len(shards)} ConfigMaps, over {MOST_SHARDS}")
        order = range(len(shards))
        written = 0
        for index in reversed(order) if len(shards) > before else order:
            if self._stored.get(index) != shards[index]:
                leadership.require()
                path = f"{self._root}/{NAMES_PREFIX}{index}"
                await self._objects.apply(path, self._body(index, shards[index]), FIELD_MANAGER)
                self._stored[index] = shards[index]
                written += 1
        for index in [each for each in self._stored if each >= len(shards)]:
            leadership.require()
            await self._objects.delete(f"{self._root}/{NAMES_PREFIX}{index}")
            del self._stored[index]
        return written

    def _body(self, index: int, shard: bytes) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"{NAMES_PREFIX}{index}",
                "namespace": self._namespace,
                "labels": {names.MANAGED_BY_LABEL: "sallyport"},
            },
            "data": {_KEY: shard.decode()},
        }


def _power(count: int) -> int:
    """Return the power of two that is not below."""
    return 1 << (count - 1).bit_length()
