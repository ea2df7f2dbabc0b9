"""docs/operate/disaster.md: each way out, with no gate, on a real kube-apiserver."""

import asyncio
import base64
import datetime as dt

import pytest

from control.certificates.store import wanted_leaves
from kube.client.objects import open_objects
from tests.api.certs.scene import Scene
from tests.api.install.conftest import TEAM, WHEN_READY
from tests.api.install.questions import MERGE, REGISTRATIONS, ROOT, created, registrations
from tests.harness.evidence import ROOT as REPOSITORY
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.harness.worlds import rbac
from tests.unit.helm.series import KUBE_APISERVER

PAGE = (REPOSITORY / "docs" / "operate" / "disaster.md").read_text()


@pytest.fixture
async def locked(
    admin: Client, apiserver: ApiServer, helm: Helm, taken_away: tuple[str, ...]
) -> Client:
    """A cluster whose webhooks fail closed, and no gate answers."""
    helm.install(apiserver.kubeconfig(), {})
    status, message = await created(admin)
    assert (status, "failed calling webhook" in message) == (500, True)
    return admin


async def test_its_own_pods_start_all_the_same(locked: Client) -> None:
    """After everything was stopped the cluster comes up without a person."""
    for namespace in (NAMESPACE, "kube-system"):
        await locked.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts",
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default"},
            },
        )
        assert (await created(locked, namespace))[0] == 201


async def test_kube_apiserver_counts_what_it_could_not_ask_and_what_it_refused(
    locked: Client,
) -> None:
    """The series on which alerts and the dashboard look, with the labels by which they do."""
    eve = "eve@example.com"
    rights = rbac.rule([""], "namespaces", "get patch")
    await locked.apply(rbac.grant("namespaces", rights, rbac.user(eve)))
    attributes = {"resource": "namespaces", "verb": "patch", "name": TEAM}
    await locked.as_user(eve).wait_until_can("patch", attributes)
    async with asyncio.timeout(60):  # kube-apiserver takes a moment to know its policies.
        while (await in_mode(locked.as_user(eve), "audit"))[0] != 403:  # noqa: ASYNC110 (a server)
            await asyncio.sleep(0.2)
    status, answer = await locked.request("GET", "/metrics")
    assert status == 200
    lines = str(answer).replace("\\n", "\n").split("\n")
    wanted = {
        "apiserver_admission_webhook_rejection_count": (
            'error_type="calling_webhook_error"',
            'name="validate.sallyport.dev"',
        ),
        "apiserver_validating_admission_policy_check_total": (
            'enforcement_action="deny"',
            'error_type="invalid_error"',
            'policy="namespace-guard.sallyport.dev"',
        ),
    }
    assert wanted.keys() == KUBE_APISERVER
    for name, labels in wanted.items():
        shown = [line for line in lines if line.startswith(f"{name}{{")]
        assert any(all(label in line for label in labels) for line in shown), name


async def test_the_webhooks_can_be_switched_off_and_helm_puts_them_back(
    locked: Client, apiserver: ApiServer, helm: Helm
) -> None:
    """Step 2: registrations are exempt from webhooks."""
    command = "kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration"
    assert f"{command} sallyport sallyport-discovered" in PAGE
    for path in REGISTRATIONS:
        assert (await locked.request("DELETE", path))[0] == 200
    assert (await created(locked))[0] == 201
    helm.install(apiserver.kubeconfig(), {}, *WHEN_READY)
    assert await registrations(locked) == [200] * 4
    # control puts the webhooks in once kube-apiserver reaches a gate.
    assert (await created(locked))[0] == 201
    helm.install(apiserver.kubeconfig(), {})
    assert (await created(locked))[0] == 500


async def test_what_kube_apiserver_evaluates_itself_can_be_switched_off(locked: Client) -> None:
    """Step 3, and that it goes on holding after step 2."""
    guard = "namespace-guard.sallyport.dev"
    assert f"kubectl delete validatingadmissionpolicybinding {guard}" in PAGE
    for path in REGISTRATIONS:
        await locked.request("DELETE", path)
    path = f"{ROOT}/validatingadmissionpolicybindings/{guard}"
    assert (await locked.request("GET", path))[0] == 200
    assert (await locked.request("DELETE", path))[0] == 200


async def test_one_namespace_cannot_be_let_through_while_no_gate_answers(locked: Client) -> None:
    """Step 1 says so: changing the mode is judged too."""
    assert "Where none answers, the mode is not asked for" in PAGE
    status, answer = await in_mode(locked, "audit")
    assert status == 500
    assert "failed calling webhook" in answer["message"]


async def test_expired_certificates_are_made_anew_by_a_control_that_leads_again(
    locked: Client, apiserver: ApiServer
) -> None:
    """Nobody led for two years: no command but to have control run."""
    assert "have expired" in PAGE
    async with open_objects(apiserver.kubeconfig()) as objects:
        scene = Scene(locked, objects, NAMESPACE)
        await scene.left_behind(dt.timedelta(days=800))
        expired = await trusted(locked)
        assert len(await scene.problems()) == len(wanted_leaves(NAMESPACE, "test-1"))
        await scene.run()
        assert await scene.problems() == []
        found = await trusted(locked)
        assert len(found) == 1
        assert found != expired
        assert await scene.problems(*found) == []
        # "delete the Secret; control makes it anew"
        await scene.delete("sallyport-gate-tls")
        await scene.run()
        assert await scene.problems(*found) == []


async def trusted(client: Client) -> set[bytes]:
    """Return the bundles of CAs of all webhooks that are registered as `sallyport`."""
    items = [(await client.request("GET", path))[1] for path in REGISTRATIONS if "disc" not in path]
    return {
        base64.b64decode(hook["clientConfig"]["caBundle"])
        for item in items
        for hook in item["webhooks"]
    }


async def in_mode(client: Client, mode: str) -> tuple[int, Json]:
    """Set the mode of the team's namespace."""
    labels = {"metadata": {"labels": {"sallyport.dev/mode": mode}}}
    path = f"/api/v1/namespaces/{TEAM}"
    return await client.request("PATCH", path, labels, content_type=MERGE)
