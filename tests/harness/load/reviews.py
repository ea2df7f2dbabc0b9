"""Reviews sent to a gate without a kube-apiserver between, as fast as is wanted."""

import asyncio
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from tests.harness.programs.client import Json
from tests.harness.programs.pki import KeyPair


def pod_review(pod: Json, namespace: str, username: str, name: str = "pod") -> bytes:
    """Return an AdmissionReview for the creation of a Pod by a person."""
    request: dict[str, Any] = {
        "uid": "00000000-0000-4000-8000-000000000001",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": name,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": username, "groups": ["system:authenticated"]},
        "object": pod,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


async def post(
    url: str, body: bytes, ca_pem: bytes, timeout_s: float = 15.0, shown: KeyPair | None = None
) -> tuple[int, Json]:
    """Send one review over a connection of its own; give status and body.

    `shown` is the certificate of who sends it.

    Raises:
        OSError: there is nobody, or not for long.
    """
    parts = urlsplit(url)
    context = ssl.create_default_context(cadata=ca_pem.decode())
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    head = (
        f"POST {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        "Content-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context)
        try:
            writer.write(head.encode() + body)
            answer = await reader.read()
        finally:
            writer.transport.abort()  # All is read, or never will be: wait for no goodbye.
    if not answer:
        raise ConnectionResetError("closed without an answer")
    headers, _, content = answer.partition(b"\r\n\r\n")
    return int(headers.split()[1]), json.loads(content)
