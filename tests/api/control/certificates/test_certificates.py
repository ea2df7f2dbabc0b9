"""Keys and certificates in the Secrets of a real cluster, and the bundle in its webhooks."""

import asyncio
import copy
import ssl
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import ClusterError, NotLeaderError
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.api.control.certificates.secrets import (
    FOREVER,
    SECRETS,
    certificates,
    read,
    require_sound,
    versions,
)
from tests.api.kube.objects import new_name
from tests.harness.programs.client import Client


async def test_what_is_made_carries_mutual_tls(
    client: Client, objects: Objects, namespace: str, tmp_path: Path
) -> None:
    """Gate and auditor, each with its Secret's three files, know each other by name."""
    await certificates(objects, namespace).run(FOREVER)
    server = await context(client, namespace, "sallyport-auditor-tls", tmp_path, server=True)
    shipping = await context(client, namespace, "sallyport-shipping-gate", tmp_path, server=False)
    peers: list[Any] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(writer.get_extra_info("peercert")["subjectAltName"])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server) as listening:
        port = listening.sockets[0].getsockname()[1]
        for name in (f"sallyport-auditor.{namespace}.svc", "sallyport-auditor"):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=shipping, server_hostname=name
            )
            assert await reader.read() == b""
            writer.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(
                "127.0.0.1", port, ssl=shipping, server_hostname="sallyport-gate"
            )
    assert peers[:2] == [(("URI", "sallyport://test-1/gate"),)] * 2


async def context(
    client: Client, namespace: str, name: str, folder: Path, *, server: bool
) -> ssl.SSLContext:
    """Return a strict TLS context with the files of a Secret, as a volume shows them."""
    for key, value in (await read(client, namespace, name)).items():
        (folder / f"{name}.{key}").write_bytes(value)
    purpose = ssl.Purpose.CLIENT_AUTH if server else ssl.Purpose.SERVER_AUTH
    made = ssl.create_default_context(purpose, cafile=str(folder / f"{name}.ca.crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    made.load_cert_chain(folder / f"{name}.tls.crt", folder / f"{name}.tls.key")
    return made


async def test_once_made_nothing_is_written_again(
    client: Client, objects: Objects, namespace: str
) -> None:
    """The second run notes that the CA is everywhere; after that, nothing."""
    loop = certificates(objects, namespace)
    await loop.run(FOREVER)
    first = await versions(client, namespace)
    await loop.run(FOREVER)
    second = await versions(client, namespace)
    assert {name for name in SECRETS if first[name] != second[name]} == {"sallyport-ca"}
    await certificates(objects, namespace).run(FOREVER)
    assert await versions(client, namespace) == second
    for name in SECRETS[:-1]:
        assert (await client.get("v1", "Secret", name, namespace))["type"] == "kubernetes.io/tls"


async def test_a_stop_before_any_of_its_writes_is_harmless(
    client: Client, objects: Objects
) -> None:
    """Leadership ends before the nth write; the next leader completes what is there."""
    for allowed in range(len(SECRETS)):
        namespace = new_name("stopped")
        await client.create_namespace(namespace)
        leadership = Leadership(1, allowed, partial(next, count(0.0)))
        with pytest.raises(NotLeaderError):
            await certificates(objects, namespace).run(leadership)
        made = [await client.request("GET", path(namespace, name)) for name in SECRETS]
        assert sum(status == 200 for status, _ in made) == allowed
        await certificates(objects, namespace).run(FOREVER)
        await require_sound(client, namespace)


def path(namespace: str, name: str) -> str:
    """Return a Secret's path."""
    return f"/api/v1/namespaces/{namespace}/secrets/{name}"


async def test_of_two_that_write_at_once_one_wins(
    client: Client, objects: Objects, namespace: str
) -> None:
    """Each believes to lead: nothing is made twice, and whoever loses begins again."""
    all_have_looked = asyncio.Barrier(4)

    class Together(Objects):
        """Makes the first Secret once everybody has seen that there is none."""

        async def create(self, collection: str, body: Any) -> dict[str, Any]:
            if body["metadata"]["name"] == "sallyport-ca":
                await all_have_looked.wait()
            return await super().create(collection, body)

    together = Together(objects._connection, 4.0)  # noqa: SLF001 -- the same connection
    loops = [certificates(together, namespace) for _ in range(4)]
    async with asyncio.timeout(60):
        done = await asyncio.gather(*(each.run(FOREVER) for each in loops), return_exceptions=True)
    lost = [each for each in done if isinstance(each, BaseException)]
    assert len(lost) == 3
    assert all(isinstance(each, ClusterError) and each.status == 409 for each in lost)
    await loops[0].run(FOREVER)
    await require_sound(client, namespace)


BREAKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "junk": lambda data: data.update({"tls.crt": "anVuaw==", "tls.key": "anVuaw=="}),
    "no bundle": lambda data: data.pop("ca.crt"),
    "half-written": lambda data: data.update({"tls.crt": data["tls.crt"][:80]}),
}


@pytest.mark.parametrize("how", BREAKS)
async def test_a_secret_that_somebody_broke_is_mended(
    how: str, client: Client, objects: Objects, namespace: str
) -> None:
    """What else they put into it stays."""
    await certificates(objects, namespace).run(FOREVER)
    secret = await client.get("v1", "Secret", "sallyport-gate-tls", namespace)
    broken = copy.deepcopy(secret)
    BREAKS[how](broken["data"])
    broken["data"]["theirs"] = "dGhlaXJz"
    status, _ = await client.request("PUT", path(namespace, "sallyport-gate-tls"), broken)
    assert status == 200
    await certificates(objects, namespace).run(FOREVER)
    await require_sound(client, namespace)
    assert (await read(client, namespace, "sallyport-gate-tls"))["theirs"] == b"theirs"


async def test_one_that_cannot_be_written_holds_up_no_other(
    client: Client, objects: Objects, namespace: str
) -> None:
    """An immutable Secret: the error says what to do, and repeats nothing of the key."""
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "sallyport-gate-tls", "namespace": namespace},
        "immutable": True,
    }
    await client.create(made)
    with pytest.raises(ClusterError, match=r"sallyport-gate-tls .*422.*delete it") as raised:
        await certificates(objects, namespace).run(FOREVER)
    assert "LS0t" not in str(raised.value)
    assert raised.value.__cause__ is None
    await client.delete(made)
    await certificates(objects, namespace).run(FOREVER)
    await require_sound(client, namespace)
