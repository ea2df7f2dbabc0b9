"""What the tests of certificates look at in a cluster."""

import base64

from certs.authority import is_issued_by, read_certificate, read_certificates
from control.certificates.loop import Certificates
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.harness.programs.client import Client

PAIRS = "sallyport-gate-tls sallyport-auditor-tls sallyport-shipping-gate".split()
SECRETS = [*PAIRS, "sallyport-shipping-control", "sallyport-ca"]
FOREVER = Leadership(1, 1.0, lambda: 0.0)


def certificates(objects: Objects, namespace: str) -> Certificates:
    """Return the loop of one control."""
    return Certificates(objects, namespace, "test-1")


async def read(client: Client, namespace: str, name: str) -> dict[str, bytes]:
    """Return what is in a Secret."""
    secret = await client.get("v1", "Secret", name, namespace)
    return {key: base64.b64decode(value) for key, value in secret["data"].items()}


async def versions(client: Client, namespace: str) -> dict[str, str]:
    """Return the resourceVersion of each Secret."""
    found = {name: await client.get("v1", "Secret", name, namespace) for name in SECRETS}
    return {name: secret["metadata"]["resourceVersion"] for name, secret in found.items()}


async def require_sound(client: Client, namespace: str) -> None:
    """Assert that each pair is of the one CA that every place trusts."""
    found = [await read(client, namespace, name) for name in SECRETS[:-1]]
    assert len({one["ca.crt"] for one in found}) == 1
    authorities = read_certificates(found[0]["ca.crt"])
    assert len(authorities) == 1
    for one in found:
        assert is_issued_by(read_certificate(one["tls.crt"]), authorities)
