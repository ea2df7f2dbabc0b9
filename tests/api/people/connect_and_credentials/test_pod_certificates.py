"""PodCertificateRequests that somebody makes by hand, to get the certificate of a Pod."""

import base64
from http import HTTPStatus
from typing import Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from tests.api.people.connect_and_credentials.requests import NAMESPACE, Visitors, Way, ask
from tests.harness.programs.client import APPLY_PATCH, Client, Json
from tests.harness.worlds.rbac import grant, rule, user

GROUP: Final = "/apis/certificates.k8s.io"
NODE: Final = "gpu-7"
SIGNER: Final = "kubernetes.io/kube-apiserver-client-pod"
NEEDED: Final = f"certificate/pod/trainer/llama-0/{SIGNER}"
WRITER: Final = "writer@example.com"
_DRY: Final = {"dryRun": "All"}


def _collection(version: str, namespace: str = NAMESPACE) -> str:
    return f"{GROUP}/{version}/namespaces/{namespace}/podcertificaterequests"


def pod_certificate(version: str = "v1", **spec: object) -> Json:
    """Return a request for a certificate of the Pod `llama-0` of the account `trainer`."""
    stub = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    signed = stub.sign(ed25519.Ed25519PrivateKey.generate(), None)
    return {
        "apiVersion": f"certificates.k8s.io/{version}",
        "kind": "PodCertificateRequest",
        "metadata": {"name": "by-hand", "namespace": NAMESPACE},
        "spec": {
            "signerName": SIGNER,
            "podName": "llama-0",
            "podUID": "0b1f6471-1bf0-4dda-aec3-111122223333",
            "serviceAccountName": "trainer",
            "serviceAccountUID": "0b1f6471-1bf0-4dda-aec3-111122224444",
            "nodeName": NODE,
            "nodeUID": "0b1f6471-1bf0-4dda-aec3-111122225555",
            "maxExpirationSeconds": 86400,
            "stubPKCS10Request": base64.b64encode(
                signed.public_bytes(serialization.Encoding.DER)
            ).decode(),
            **spec,
        },
    }


def _create(version: str = "v1", **spec: object) -> Way:
    body = pod_certificate(version, **spec)
    return Way("pod certificate", _collection(version), body=body, parameters=_DRY)


async def test_pod_certificate_by_hand_needs_a_privilege(visitors: Visitors) -> None:
    """RBAC allows it, and kube-apiserver checks neither Pod nor account for who is no node."""
    asked = await ask(visitors.nobody(), _create())
    assert asked.refused, asked
    assert asked.privileges == {NEEDED}
    assert (await ask(visitors.using("restricted"), _create())).refused
    admitted = await ask(visitors.using("pss-privileged"), _create())
    assert admitted.status == HTTPStatus.CREATED, admitted


async def test_pod_certificate_by_server_side_apply_needs_the_privilege(visitors: Visitors) -> None:
    """An apply of what does not exist is a create."""
    status, answer = await visitors.nobody().request(
        "PATCH",
        f"{_collection('v1')}/by-hand",
        pod_certificate(),
        parameters={**_DRY, "fieldManager": "test"},
        content_type=APPLY_PATCH,
    )
    assert status == HTTPStatus.FORBIDDEN, answer
    assert NEEDED in answer["message"]


async def test_pod_certificate_names_the_pod_account_and_signer(visitors: Visitors) -> None:
    """Each is a part of the privilege: who may ask for one Pod's may not ask for another's."""
    way = _create(podName="agent-0", serviceAccountName="default", signerName="example.com/mesh")
    asked = await ask(visitors.nobody(), way)
    assert asked.privileges == {"certificate/pod/default/agent-0/example.com/mesh"}


@pytest.mark.parametrize(
    ("user", "groups", "node"),
    [
        ("system:node:gpu-7", (), NODE),
        ("eve@example.com", ("system:nodes",), NODE),
        ("system:node:gpu-8", ("system:nodes",), NODE),
        ("system:serviceaccount:kube-system:certificate-controller", (), NODE),
    ],
)
async def test_pod_certificate_of_who_is_not_the_pods_node_is_judged(
    visitors: Visitors, user: str, groups: tuple[str, ...], node: str
) -> None:
    """A name without its group, a group without its name, another node, another component."""
    asked = await ask(visitors.component(user, *groups), _create(nodeName=node))
    assert asked.refused, asked
    assert asked.privileges == {NEEDED}


async def test_pod_certificate_of_the_pods_node_reaches_no_gate(visitors: Visitors) -> None:
    """NodeRestriction holds a node to its own Pods; this kube-apiserver runs without it."""
    asked = await ask(visitors.component(f"system:node:{NODE}", "system:nodes"), _create())
    assert asked.status == HTTPStatus.CREATED, asked


async def test_pod_certificate_status_is_the_signers_alone(
    visitors: Visitors, admin: Client
) -> None:
    """kube-apiserver asks for the verb `sign` on the signer, and lets nobody change the spec."""
    rights = grant("pod-certificate-status", rule(["*"], "*", "update"), user(WRITER))
    await admin.apply(rights)
    stored = await admin.create(pod_certificate())
    path = f"{_collection('v1')}/by-hand"
    try:
        changed = {**stored, "spec": {**stored["spec"], "podName": "agent-0"}}
        spec = await ask(visitors.nobody(), Way("spec", path, "PUT", changed, _DRY))
        assert (spec.status, spec.refused) == (HTTPStatus.UNPROCESSABLE_ENTITY, False), spec
        denied = {"type": "Denied", "status": "True", "reason": "Test", "message": ""}
        status = {"conditions": [{**denied, "lastTransitionTime": "2026-11-27T00:00:00Z"}]}
        way = Way("status", f"{path}/status", "PUT", {**stored, "status": status}, _DRY)
        unsigned = await ask(admin.as_user(WRITER), way)
        assert (unsigned.status, unsigned.refused) == (HTTPStatus.UNPROCESSABLE_ENTITY, False)
        assert 'is not permitted to "sign"' in unsigned.message
        signed = await ask(visitors.nobody(), way)
        assert signed.status == HTTPStatus.OK, signed
    finally:
        for each in (stored, *rights):
            await admin.delete(each)
