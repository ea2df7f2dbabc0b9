"""The marks of namespaces are held twice: by the gate, and by kube-apiserver's own policy."""

import asyncio
import time

import pytest

from tests.api.admission.objects import new_namespace
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.rbac import grant, rule, user

EDITOR = "editor@example.com"
EXEMPTER = "exempter@example.com"


@pytest.fixture
async def namespace(admin: Client) -> str:
    """A namespace, and two people who may edit namespaces, one of whom may exempt them."""
    editor, exempter = user(EDITOR), user(EXEMPTER)
    spaces = "namespaces namespaces/status namespaces/finalize"
    edit = rule([""], spaces, "create get update patch")
    exempt = rule(["sallyport.dev"], "namespaces", "exempt")
    await admin.apply(grant("namespace-editors", edit, editor, exempter))
    await admin.apply(grant("exempters", exempt, exempter))
    await admin.as_user(EDITOR).wait_until_can("patch", {"resource": "namespaces"})
    attributes = {"group": "sallyport.dev", "resource": "namespaces"}
    await admin.as_user(EXEMPTER).wait_until_can("exempt", attributes)
    return await new_namespace(admin)


MARKS = [
    {"labels": {"sallyport.dev/mode": "audit"}},
    {"labels": {"sallyport.dev/mode": "enforce"}},
    {"labels": {"sallyport.dev/when-unrecorded": "admit"}},
    {"labels": {"sallyport.dev/egress": "deny"}},
    {"labels": {"sallyport.dev/egress": "audit"}},
    {"annotations": {"sallyport.dev/egress-workloads": "Job/fetch"}},
    {"labels": {"sallyport.dev/risk-class": "open"}},
    {"labels": {"sallyport.dev/when-risk-stale": "allow"}},
    {"labels": {"control-plane": "true"}},
    {"labels": {"kubernetes.azure.com/managedby": "aks"}},
    {"annotations": {"sallyport.dev/ceiling": "pss-privileged"}},
    {"annotations": {"sallyport.dev/uid-range": "1000680000/10000"}},
    {"annotations": {"sallyport.dev/supplemental-groups": "1-5,6/5"}},
]


def _object(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def _patch(client: Client, name: str, metadata: Json, subresource: str = "") -> int:
    path = f"/api/v1/namespaces/{name}{subresource}"
    status, _ = await client.request(
        "PATCH", path, {"metadata": metadata}, content_type="application/merge-patch+json"
    )
    return status


@pytest.mark.parametrize("mark", MARKS, ids=str)
async def test_setting_a_mark_needs_exempt(admin: Client, namespace: str, mark: Json) -> None:
    """An editor of namespaces is refused; who may exempt is not; taking it away is the same."""
    editor, exempter = admin.as_user(EDITOR), admin.as_user(EXEMPTER)
    assert await _patch(editor, namespace, mark) == 403
    assert await _patch(editor, namespace, mark, "/status") == 403
    assert await _patch(exempter, namespace, mark) == 200
    gone = {field: dict.fromkeys(values) for field, values in mark.items()}
    assert await _patch(editor, namespace, gone) == 403
    assert await _patch(editor, namespace, {"labels": {"team": "x"}}) == 200
    assert await _patch(exempter, namespace, gone) == 200


async def test_creating_a_marked_namespace_needs_exempt(admin: Client, namespace: str) -> None:
    """A new namespace cannot bring a mark along."""
    marked = _object(f"{namespace}-2")
    marked["metadata"]["labels"] = {"sallyport.dev/mode": "audit"}
    with pytest.raises(ApiStatusError, match="exempt"):
        await admin.as_user(EDITOR).create(marked)
    await admin.as_user(EXEMPTER).create(marked)


async def test_the_gate_refuses_by_itself(admin: Client, namespace: str) -> None:
    """The webhook's own refusal is seen, beside the policy's: the two hold without each other."""
    policy = "namespace-guard.sallyport.dev"
    api = "admissionregistration.k8s.io/v1"
    binding = await admin.get(api, "ValidatingAdmissionPolicyBinding", policy)
    await admin.delete(binding)
    try:
        end = time.monotonic() + 60
        refusal = ""
        while "admission webhook" not in refusal:
            assert time.monotonic() < end, f"the webhook never refused by itself: {refusal}"
            with pytest.raises(ApiStatusError) as refused:
                await admin.as_user(EDITOR).patch(
                    _object(namespace), {"metadata": {"labels": {"control-plane": "1"}}}
                )
            refusal = str(refused.value)
            await asyncio.sleep(0.1)
    finally:
        fresh = {key: binding[key] for key in ("apiVersion", "kind", "spec")}
        await admin.apply([{**fresh, "metadata": {"name": policy}}])
