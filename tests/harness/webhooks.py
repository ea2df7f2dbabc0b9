"""Registers the gate's webhooks with kube-apiserver, by URL instead of by Service."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.harness.client import Client, Json, read_objects
from tests.harness.evidence import ROOT
from tests.harness.pods import RESTRICTED

MANIFEST: Final = ROOT / "deploy" / "webhooks.yaml"
SETTLE_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.1
_NAMESPACE: Final = "webhook-probe"
_CALLS: Final = re.compile(
    r'^apiserver_admission_webhook_request_total\{.*name="([^"]+)".*\} (\S+)$',
    re.MULTILINE,
)


def configurations(url: str, ca_pem: bytes) -> list[Json]:
    """Return the shipped webhook configurations, pointed at `url` plus each webhook's path."""
    items = read_objects(MANIFEST)
    for item in items:
        for webhook in item["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {
                "url": f"{url}{path}",
                "caBundle": base64.b64encode(ca_pem).decode(),
            }
    return items


@asynccontextmanager
async def registered(client: Client, url: str, ca_pem: bytes) -> AsyncIterator[None]:
    """Have kube-apiserver ask the gate at `url` while the context lasts.

    On entry it has been seen to ask every webhook, on exit to ask none any more: it follows
    changes of a registration with a delay. Whatever the gate answers is right here.
    """
    await client.create_namespace(_NAMESPACE)
    items = configurations(url, ca_pem)
    names = {webhook["name"] for item in items for webhook in item["webhooks"]}
    await client.apply(items)
    try:
        await _wait_until_called(client, names)
        yield
    finally:
        for item in items:
            await client.delete(item)
        await _wait_until_called(client, set())


async def _wait_until_called(client: Client, names: set[str]) -> None:
    """Ask for an object of each, until exactly the webhooks of these names are called."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while (called := await _called(client)) != names:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"kube-apiserver calls {sorted(called)} and not {sorted(names)} "
                f"{SETTLE_TIMEOUT_S:g} s after their registration changed",
            )
        await asyncio.sleep(_POLL_S)


async def _called(client: Client) -> set[str]:
    """Return the webhooks that kube-apiserver called for one object of each."""
    before = await _call_counts(client)
    namespace: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": f"{_NAMESPACE}-2"},
    }
    template: Json = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "probe"},
        "template": RESTRICTED.pod(),
    }
    for path, body in (
        (f"/api/v1/namespaces/{_NAMESPACE}/podtemplates", template),
        (f"/api/v1/namespaces/{_NAMESPACE}/pods", RESTRICTED.pod()),
        ("/api/v1/namespaces", namespace),
    ):
        await client.request("POST", path, body, parameters={"dryRun": "All"})
    after = await _call_counts(client)
    return {name for name, count in after.items() if count > before.get(name, 0)}


async def _call_counts(client: Client) -> dict[str, float]:
    """Return how often each webhook was called, whatever came of it, from /metrics."""
    _, answer = await client.request("GET", "/metrics")
    counts: dict[str, float] = {}
    for name, count in _CALLS.findall(answer["message"]):
        counts[name] = counts.get(name, 0) + float(count)
    return counts
