"""Puts objects into etcd as they are stored, for more of them than can be created in a test.

kube-apiserver stores protobuf; its decoder takes JSON as well (apimachinery,
runtime/serializer/recognizer), so JSON is written, through etcd's own gateway for gRPC.
"""

import base64
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Final

import aiohttp

from tests.harness.programs.client import Json

_BATCH: Final = 64
"""Puts in one transaction: etcd takes 128, and 1.5 MiB of them."""


async def put_pods(etcd_url: str, pods: Iterable[Json]) -> int:
    """Store Pods under their namespaces and names, and return how many there were."""
    count, waiting = 0, iter(pods)
    async with _etcd(etcd_url) as etcd:
        while batch := list(islice(waiting, _BATCH)):
            await etcd.post("/v3/kv/txn", json={"success": list(map(_put, batch))})
            count += len(batch)
    return count


async def delete_pods(etcd_url: str, namespace: str = "") -> None:
    """Take away the Pods of one namespace, or of all."""
    key = f"/registry/pods/{namespace}/" if namespace else "/registry/pods/"
    request = {"key": _base64(key), "range_end": _base64(key[:-1] + "0")}
    async with _etcd(etcd_url) as etcd:
        await etcd.post("/v3/kv/deleterange", json=request)


async def compact(etcd_url: str) -> None:
    """Let etcd forget the past, as kube-apiserver does every five minutes."""
    async with _etcd(etcd_url) as etcd:
        revision = await _next_revision(etcd)
        await etcd.post("/v3/kv/compaction", json={"revision": revision, "physical": True})


@asynccontextmanager
async def _etcd(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a session; at its end all that was written is of the past.

    kube-apiserver never changes two keys in one revision, and its cache takes a revision for
    whole with the first of them: only after another one does a list surely show all.
    """
    async with aiohttp.ClientSession(url, raise_for_status=True) as session:
        yield session
        await _next_revision(session)


async def _next_revision(etcd: aiohttp.ClientSession) -> int:
    async with etcd.post("/v3/kv/put", json={"key": _base64("x"), "value": ""}) as answer:
        return int((await answer.json())["header"]["revision"])


def _put(pod: Json) -> Json:
    metadata = pod["metadata"]
    key = f"/registry/pods/{metadata['namespace']}/{metadata['name']}"
    return {"requestPut": {"key": _base64(key), "value": _base64(json.dumps(pod))}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
