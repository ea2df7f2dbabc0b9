"""Tokens, certificates, bindings and debug containers, asked for past the ways that are judged."""

import base64
from http import HTTPStatus

import pytest

from core.people.subject import Subject
from tests.api.people.connect_and_credentials.requests import (
    NAMESPACE,
    Visitors,
    Way,
    ask,
    certificate_request,
    debugger,
)
from tests.harness.programs.client import STRATEGIC_MERGE_PATCH, Client, Json

_TOKEN = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/trainer/token"
_CLIENT = "kubernetes.io/kube-apiserver-client"
_KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
_SERVING = "kubernetes.io/kubelet-serving"
_CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_DRY = {"dryRun": "All"}


def token(**spec: object) -> Way:
    """Return a request for a token of the service account `trainer`."""
    kind: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return Way("token", _TOKEN, body=kind, parameters=_DRY)


def token_secret() -> Way:
    """Return a Secret that Kubernetes fills with a token of the service account `trainer`."""
    named = {"kubernetes.io/service-account.name": "trainer"}
    body: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token", "namespace": NAMESPACE, "annotations": named},
        "type": "kubernetes.io/service-account-token",
    }
    where = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    return Way("secret", where, body=body, parameters=_DRY)


def bind(*, legacy: bool = False) -> Way:
    """Return a binding of a Pod to a node."""
    body: Json = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "llama-0", "namespace": NAMESPACE},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-7"},
    }
    where = "bindings" if legacy else "pods/llama-0/binding"
    return Way("binding", f"/api/v1/namespaces/{NAMESPACE}/{where}", body=body, parameters=_DRY)


def certificate(signer: str, name: str, *groups: str) -> Way:
    """Return a request for a certificate."""
    body = certificate_request("entering", signer, name, groups)
    return Way("certificate", _CSRS, body=body, parameters=_DRY)


EVE = f"certificate/user/{Subject('eve').label}"
"""People have no names in privileges."""

REFUSED = [
    (
        token(),
        {
            "token/request/trainer",
            "token/unbound",
            # kube-apiserver fills in its own before a webhook is asked.
            "token/audience/https:%2F%2Fkubernetes.default.svc",
        },
    ),
    (
        token(audiences=["api://AzureADTokenExchange"], expirationSeconds=31_536_000),
        {
            "token/request/trainer",
            "token/unbound",
            "token/long-lived",
            "token/audience/api:%2F%2FAzureADTokenExchange",
        },
    ),
    (token_secret(), {"token/request/trainer", "token/unbound", "token/long-lived"}),
    (bind(), {"scheduling/bind"}),
    (bind(legacy=True), {"scheduling/bind"}),
    (certificate("example.com/mesh", "mesh"), {"certificate/request/example.com/mesh"}),
    (
        certificate(_CLIENT, "eve", "system:nodes", "auditors"),
        {
            f"certificate/request/{_CLIENT}",
            EVE,
            "certificate/group/system:nodes",
            "certificate/group/auditors",
        },
    ),
    (
        certificate(_KUBELET, "system:node:gpu-7", "system:nodes"),
        {
            f"certificate/request/{_KUBELET}",
            "certificate/user/system:node:gpu-7",
            "certificate/group/system:nodes",
        },
    ),
]


@pytest.mark.parametrize(("way", "privileges"), REFUSED)
async def test_credentials_take_privileges(
    visitors: Visitors, way: Way, privileges: set[str]
) -> None:
    """RBAC allows it all; `restricted` covers none of it but its own audience."""
    asked = await ask(visitors.nobody(), way)
    assert asked.refused, asked
    assert asked.privileges == privileges
    assert (await ask(visitors.using("restricted"), way)).refused


@pytest.mark.parametrize(("before", "after"), [(b"", b" more\n"), (b"x", b"\n")])
async def test_what_kube_apiserver_reads_is_what_is_judged(
    visitors: Visitors, before: bytes, after: bytes
) -> None:
    """Of two requests in one, kube-apiserver takes that which stands on lines of its own.

    That it does is shown by its own refusal of system:masters, to who may use everything.
    """
    pems = [
        base64.b64decode(certificate_request("a", _CLIENT, name, groups)["spec"]["request"])
        for name, groups in (("robot", ()), ("root", ["system:masters"]), ("root", ["auditors"]))
    ]
    bodies = []
    for hidden in pems[1:]:
        both = before + pems[0].rstrip() + after + hidden
        body = certificate_request("entering", _CLIENT, "robot")
        body["spec"]["request"] = base64.b64encode(both).decode()
        bodies.append(Way("certificate", _CSRS, body=body, parameters=_DRY))
    masters = await ask(visitors.using("pss-privileged"), bodies[0])
    assert "system:masters" in masters.message
    asked = await ask(visitors.nobody(), bodies[1])
    assert {"certificate/user/%00", "certificate/group/%00"} <= asked.privileges


async def test_masters_are_kube_apiservers_own_refusal(visitors: Visitors) -> None:
    """CertificateSubjectRestriction speaks first; nobody gets such a certificate."""
    asked = await ask(visitors.using("pss-privileged"), certificate(_CLIENT, "e", "system:masters"))
    assert "system:masters" in asked.message
    assert not asked.refused


async def test_what_kubernetes_does_goes_on(visitors: Visitors) -> None:
    """The scheduler binds, nodes join, kubelets ask for tokens: RBAC alone decides."""
    node = visitors.component("system:node:gpu-7", "system:nodes")
    joining = visitors.component("system:bootstrap:abcdef", "system:bootstrappers")
    scheduler = visitors.component("system:kube-scheduler")
    own = certificate(_SERVING, "system:node:gpu-7", "system:nodes")
    joins = certificate(_KUBELET, "system:node:gpu-8", "system:nodes")
    for client, way in (
        (node, token()),
        (node, certificate(_KUBELET, "system:node:gpu-7", "system:nodes")),
        (joining, joins),
        (scheduler, bind()),
    ):
        asked = await ask(client, way)
        assert not asked.refused, asked
        assert asked.status == HTTPStatus.CREATED, asked
    assert not (await ask(node, own)).refused


@pytest.mark.parametrize(
    ("user", "groups"),
    [("system:node:gpu-7", ()), ("eve@example.com", ("system:nodes",))],
)
async def test_half_a_node_is_none(visitors: Visitors, user: str, groups: tuple[str, ...]) -> None:
    """The name without the group, and the group without the name, are ordinary requesters."""
    assert (await ask(visitors.component(user, *groups), token())).refused


async def test_a_nodes_group_is_worth_only_its_own_signers(visitors: Visitors) -> None:
    """A node that asks for a user's certificate is no node asking for its own."""
    node = visitors.component("system:node:gpu-7", "system:nodes")
    asked = await ask(node, certificate(_CLIENT, "system:kube-scheduler"))
    assert "certificate/user/system:kube-scheduler" in asked.privileges


async def test_a_scheduler_of_the_sites_own_has_a_profile(visitors: Visitors) -> None:
    """`scheduling/bind`, and nothing else."""
    client = visitors.using("binder")
    assert not (await ask(client, bind())).refused
    assert (await ask(client, token())).refused


def _approve(request: Json, kind: str) -> Way:
    condition = {"type": kind, "status": "True", "reason": "Test", "message": ""}
    body = {**request, "status": {"conditions": [condition]}}
    path = f"{_CSRS}/{request['metadata']['name']}/approval"
    return Way(kind, path, "PUT", body, _DRY)


async def test_approving_is_asked_again_with_the_names(visitors: Visitors, admin: Client) -> None:
    """Whoever approves needs what the certificate makes, whoever asked; a denial needs nothing."""
    stored = await admin.create(certificate_request("eves", _CLIENT, "eve", ["auditors"]))
    try:
        way = _approve(stored, "Approved")
        asked = await ask(visitors.nobody(), way)
        assert asked.privileges == {
            f"certificate/approve/{_CLIENT}",
            EVE,
            "certificate/group/auditors",
        }
        assert not (await ask(visitors.using("pss-privileged"), way)).refused
        controller = visitors.component("system:serviceaccount:kube-system:certificate-controller")
        assert not (await ask(controller, way)).refused
        denial = _approve(stored, "Denied")
        assert not (await ask(visitors.nobody(), denial)).refused
    finally:
        await admin.delete(stored)


def _debug(pod: str, **more: object) -> Way:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/ephemeralcontainers"
    body: Json = {"spec": {"ephemeralContainers": [debugger(**more)]}}
    return Way("debug", path, "PATCH", body, _DRY)


async def test_debug_containers_are_judged_for_whoever_adds_them(visitors: Visitors) -> None:
    """The image, the target and the Pod itself: all by one profile of theirs."""
    for client, pod, more, privileges in (
        (visitors.nobody(), "llama-0", {}, {"debug/registry.example.org/trainer"}),
        (
            visitors.using("isolated"),
            "llama-0",
            {"targetContainerName": "main"},
            {"debug/registry.example.org/trainer", "debug/target"},
        ),
        (visitors.using("restricted"), "agent-0", {}, {"container/privileged"}),
        (
            visitors.using("restricted"),
            "llama-0",
            {"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}},
            {"capability/SYS_PTRACE"},
        ),
    ):
        way = _debug(pod, **more)
        status, answer = await client.request(
            way.method,
            way.path,
            way.body,
            parameters=way.parameters,
            content_type=STRATEGIC_MERGE_PATCH,
        )
        assert status == HTTPStatus.FORBIDDEN, answer
        assert all(f"privilege {each}, " in answer["message"] for each in privileges), answer
    allowed = _debug("llama-0", targetContainerName="main")
    status, answer = await visitors.using("restricted").request(
        allowed.method,
        allowed.path,
        allowed.body,
        parameters=allowed.parameters,
        content_type=STRATEGIC_MERGE_PATCH,
    )
    assert status == HTTPStatus.OK, answer
