"""Who asks in these tests, for what, and how kube-apiserver's answer is read."""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID

from tests.api.objects.pods import container, pod
from tests.harness.programs.client import Client, Json

NAMESPACE: Final = "entering"
MAKERS: Final = "entering-makers"
GROUPS: Final = ("system:authenticated", MAKERS)

HOLDERS: Final = (
    "isolated",
    "restricted",
    "node-agent",
    "pss-privileged",
    "commands",
    "monitoring",
    "binder",
)

_WRITTEN: Final = {
    "commands": ["exec/command/nvidia-smi", "exec/command/python3"],
    "monitoring": ["proxy/node/kubelet/metrics", "proxy/service/http"],
    "binder": ["scheduling/bind"],
}
"""Profiles of a site: some commands, scrapes through kube-apiserver, a scheduler of its own."""

_PRIVILEGE: Final = re.compile(r"privilege (\S+), covered by")
_POD_NEEDS: Final = ("image/", "capabilities/", "limits/", "run-as/")


def profiles() -> Iterator[Json]:
    """Yield the profiles of these tests."""
    for name, privileges in _WRITTEN.items():
        spec = {
            "description": "For a test.",
            "rank": 500,
            "catalogue": 3,
            "includes": ["isolated"] if name == "commands" else [],
            "privileges": [*privileges, "run-as/host-users"],
        }
        yield {
            "apiVersion": "sallyport.dev/v1alpha1",
            "kind": "ContainerProfile",
            "metadata": {"name": name},
            "spec": spec,
        }


def pods() -> Iterator[Json]:
    """Yield a Pod that `restricted` covers, and one that is privileged. Neither has a node."""
    yield pod("llama-0", NAMESPACE)
    agent = pod("agent-0", NAMESPACE)
    agent["spec"]["containers"][0]["securityContext"] = {
        "privileged": True,
        "readOnlyRootFilesystem": True,
    }
    yield agent


def debugger(**more: object) -> Json:
    """Return a debug container."""
    return {**container("debugger"), **more}


def certificate_request(
    name: str, signer: str, common_name: str, organisations: Iterable[str] = ()
) -> Json:
    """Return a CertificateSigningRequest for a new key."""
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    subject += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organisations]
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name(subject))
        .sign(ed25519.Ed25519PrivateKey.generate(), None)
    )
    usages = ["digital signature", "client auth"]
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "signerName": signer,
            "usages": usages,
            "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
        },
    }


@dataclass(frozen=True)
class Asked:
    """What kube-apiserver said."""

    status: int
    message: str

    @property
    def refused(self) -> bool:
        """Whether the gate refused; what it lets through fails later, without a kubelet."""
        return self.status == HTTPStatus.FORBIDDEN and "admission webhook" in self.message

    @property
    def privileges(self) -> set[str]:
        """The privileges that the refusal names, but those that every Pod here needs."""
        found = set(_PRIVILEGE.findall(self.message))
        return {each for each in found if not each.startswith(_POD_NEEDS)}


@dataclass(frozen=True)
class Way:
    """A request on the way in."""

    name: str
    path: str
    method: str = "POST"
    body: Json | None = None
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Visitors:
    """Gives clients by what they may use."""

    admin: Client

    def using(self, profile: str) -> Client:
        """Whoever may use one profile, everywhere, and no other."""
        return self.admin.as_user(f"{profile}@example.com", GROUPS)

    def nobody(self) -> Client:
        """Whoever may use no profile."""
        return self.admin.as_user("nobody@example.com", GROUPS)

    def component(self, name: str, *groups: str) -> Client:
        """A component of Kubernetes; RBAC lets it do everything here."""
        return self.admin.as_user(name, (*GROUPS, *groups))


async def ask(client: Client, way: Way) -> Asked:
    """Send a request and read the answer."""
    status, answer = await client.request(way.method, way.path, way.body, parameters=way.parameters)
    return Asked(status, str(answer.get("message", answer)))


def of_pod(pod: str, subresource: str, query: str = "", method: str = "POST") -> Way:
    """Return a request to a subresource of a Pod."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/{subresource}"
    return Way(f"{method} {subresource} {query}", f"{path}?{query}" if query else path, method)
