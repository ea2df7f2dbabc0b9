"""What is judged of an object is the same however much stands beside it."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from admission.objects.size_limits import LARGE_VALUES
from core.base.json_values import count_values
from core.decision.decision import Verdict
from core.decision.request import Kind, Operation, Request
from core.profiles.container_profiles import CATALOGUE
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_privileged_objects import OBJECTS
from tests.unit.admission.objects.test_rbac_changes import TOKENS, binding, role
from tests.unit.admission.objects.test_token_secrets import asked as secret_asked
from tests.unit.admission.objects.test_token_secrets import secret
from tests.unit.admission.world import ALICE, Folder, decide, pod, request, rules, update

PADDING: Final = "," * (LARGE_VALUES + 1)
"""Counted as so many values (core.base.json_values)."""

APPROVED: Final = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
CERTIFICATE: Final = {
    "metadata": {"name": "x"},
    "spec": {"signerName": "kubernetes.io/kube-apiserver-client", "request": "", "username": "x"},
}


def approval() -> Request:
    """Return the approval of a certificate for kube-apiserver."""
    return update(
        CERTIFICATE | APPROVED,
        CERTIFICATE,
        ALICE,
        kind=Kind("CertificateSigningRequest", "v1", "certificates.k8s.io"),
        subresource="approval",
        namespace="",
        name="x",
    )


def deployment() -> Request:
    """Return a Deployment whose Pods share the node's network."""
    made = {
        "metadata": {"name": "x"},
        "spec": {"template": pod(hostNetwork=True)},
    }
    return request(made, kind=Kind("Deployment", "v1", "apps"), name="x")


REFUSED: Final[dict[str, Request]] = {
    "a Pod": request(pod(hostNetwork=True)),
    "an updated Pod": update(pod(image="elsewhere.example.org/a:1"), pod()),
    "a Deployment": deployment(),
    "a kind that nobody listed": request(
        {"metadata": {"name": "x"}, "spec": {"template": pod(hostNetwork=True)}},
        kind=Kind("Widget", "v1", "example.org"),
        name="x",
    ),
    "a token": request(
        {"spec": {"audiences": ["vault"]}},
        kind=Kind("TokenRequest", "v1", "authentication.k8s.io"),
        subresource="token",
        name="other",
    ),
    "a Secret of a token": secret_asked(secret("other")),
    "an approval of a certificate": approval(),
    "a binding of a Pod": request(
        {"metadata": {"name": "llama-0"}, "target": {"kind": "Node", "name": "gpu-0"}},
        kind=Kind("Binding", "v1"),
        subresource="binding",
    ),
    "a Role": role(TOKENS),
    "a binding of a role": binding("admin"),
    **{
        name: request(
            {"metadata": {"name": "x"}, **made},
            kind=kind,
            name="x",
            operation=Operation.CREATE,
            namespace="train" if kind.kind.startswith("ResourceClaim") else "",
        )
        for name, (kind, made, _) in OBJECTS.items()
    },
}


def padded(asked: Request) -> Request:
    """Return the same request with an annotation that makes it large, and its values counted."""
    objects = [
        _padded(json.loads(bytes(each))) if each else None
        for each in (asked.object, asked.old_object)
    ]
    texts = [json.dumps(each).encode() for each in objects if each is not None]
    raws = [None if each is None else msgspec.Raw(json.dumps(each).encode()) for each in objects]
    return msgspec.structs.replace(
        asked, submitted=raws[0], old_object=raws[1], value_count=sum(map(count_values, texts))
    )


def _padded(made: dict[str, Any]) -> dict[str, Any]:
    metadata = made.get("metadata", {})
    annotations = {**metadata.get("annotations", {}), "padding": PADDING}
    return made | {"metadata": metadata | {"annotations": annotations}}


@pytest.mark.parametrize("what", REFUSED)
async def test_a_large_object_is_judged_as_a_small_one(
    engine: EmbeddedEngine, tmp_path: Path, what: str
) -> None:
    """Each of these is refused, for the same needs."""
    folder = Folder(tmp_path / "cluster").namespace("train")
    folder.profile("least", 10, catalogue=CATALOGUE).grant(f"User:{ALICE.username}", "least")
    small, large = REFUSED[what], padded(REFUSED[what])
    assert large.value_count > LARGE_VALUES
    expected = await decide(folder.cluster(), engine, small)
    found = await decide(folder.cluster(), engine, large)
    assert (found.verdict, rules(found)) == (expected.verdict, rules(expected))
    assert expected.verdict is not Verdict.ALLOW, expected
