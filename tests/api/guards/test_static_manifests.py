"""Static admission manifests guard Sallyport's registrations; policies of the API cannot."""

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest

from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.worlds.rbac import binding, role, rule, user

STATIC: Final = ROOT / "deploy" / "static"
GUARD: Final = ROOT / "deploy" / "namespace-guard.yaml"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
POLICY: Final = f"{ADMISSION}/validatingadmissionpolicies/namespace-guard.sallyport.dev"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver that is started as docs/operate/backstop.md says."""
    folder = tmp_path_factory.mktemp("manifests")
    shutil.copytree(STATIC, folder / "static")
    plugin = {
        "name": "ValidatingAdmissionPolicy",
        "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyConfiguration",
            "staticManifestsDir": str(folder / "static"),
        },
    }
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [plugin],
    }
    file = folder / "admission.json"
    file.write_text(json.dumps(configuration))
    flags = (f"--admission-control-config-file={file}",)
    server = ApiServer(tmp_path_factory.mktemp("static"), flags=flags)
    yield server
    server.stop()


MERGE: Final = "application/merge-patch+json"
CHANGE: Final[Json] = {"spec": {"validationActions": ["Audit"]}}
BINDING: Final = f"{ADMISSION}/validatingadmissionpolicybindings/namespace-guard.sallyport.dev"


@pytest.fixture
async def owner(guarded: ApiServer) -> AsyncIterator[Client]:
    """Someone with every right over admission, and without `exempt`; the guard is there."""
    async with connect(guarded) as admin:
        for item in read_objects(GUARD):
            await admin.apply([item])
        rights = rule(["admissionregistration.k8s.io"], "*", "*")
        await admin.apply([role("owner", rights), binding("owner", user("owner"))])
        someone = admin.as_user("owner")
        await someone.wait_until_can(
            "delete",
            {"group": "admissionregistration.k8s.io", "resource": "validatingadmissionpolicies"},
        )
        yield someone


@pytest.mark.parametrize("path", [POLICY, BINDING])
async def test_our_policies_cannot_be_deleted_without_exempt(owner: Client, path: str) -> None:
    """RBAC lets them, and no policy of the API is asked about policies."""
    status, answer = await owner.request("DELETE", path)
    assert status == 403, answer
    assert "Ask for the verb exempt" in answer["message"]


async def test_our_policies_cannot_be_weakened_without_exempt(owner: Client) -> None:
    """Nor made to audit only."""
    status, answer = await owner.request("PATCH", BINDING, CHANGE, content_type=MERGE)
    assert status == 403, answer


async def test_objects_of_others_are_not_guarded(owner: Client) -> None:
    """And what is ours by whoever has `exempt`."""
    made: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "other.example.com"},
        "spec": {"policyName": "other.example.com", "validationActions": ["Deny"]},
    }
    await owner.create(made)
    status, answer = await owner.request(
        "DELETE", f"{BINDING.rpartition('/')[0]}/other.example.com"
    )
    assert status == 200, answer


async def test_holder_of_the_exempt_verb_changes_the_gates_static_manifests(
    guarded: ApiServer, owner: Client
) -> None:
    """Helm, run by an administrator."""
    async with connect(guarded) as admin:
        status, answer = await admin.request("PATCH", BINDING, CHANGE, content_type=MERGE)
        assert status == 200, answer


async def test_the_static_policy_cannot_be_touched(guarded: ApiServer) -> None:
    """It is no object of the API: not even an administrator can delete it."""
    async with connect(guarded) as admin:
        name = "registrations.sallyport.dev.static.k8s.io"
        status, _ = await admin.request("DELETE", f"{ADMISSION}/validatingadmissionpolicies/{name}")
        assert status == 404
