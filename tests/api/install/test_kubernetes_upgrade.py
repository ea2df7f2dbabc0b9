"""docs/operate/kubernetes-upgrade.md: each command as it stands there, by the programs."""

import asyncio
import re
from pathlib import Path
from typing import Final

import pytest

from tests.api.install.conftest import TEAM
from tests.api.install.test_disaster_commands import Typed, at_a_terminal
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.helm import Helm

PAGE: Final = (ROOT / "docs" / "operate" / "kubernetes-upgrade.md").read_text()
COMMANDS: Final = re.findall(r"^    ((?:kubectl|helm|sallyport) .+)$", PAGE, re.MULTILINE)
CONFIG: Final = "~/.kube/config"

TRIAL: Final = "sallyport preflight --kubeconfig test-cluster.kubeconfig"
PREFLIGHT: Final = f"sallyport preflight --kubeconfig {CONFIG}"
STATUS: Final = f"sallyport status --kubeconfig {CONFIG}"
VERIFY: Final = f"sallyport verify --kubeconfig {CONFIG}"
VERSION: Final = "kubectl get --raw /version"
NODES: Final = "kubectl get nodes -o wide"
DEPRECATED: Final = "kubectl get --raw /metrics | grep apiserver_requested_deprecated_apis"
PARTS: Final = "kubectl -n sallyport-system get deployments,statefulsets,poddisruptionbudgets"
HISTORY: Final = "helm history sallyport --namespace sallyport-system"
KEPT: Final = (
    "kubectl get containerprofiles,policyexceptions,egressallowlists,egressdestinations,"
    "accessgrants,weightstores,breakglasses,approvals,clusterapprovals,auditstatements "
    "-A -o yaml > sallyport-objects.yaml"
)
POLICIES: Final = (
    "kubectl get validatingadmissionpolicies -o custom-columns=NAME:.metadata.name,"
    "WARNINGS:.status.typeChecking.expressionWarnings"
)
HOOKS: Final = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
TRIED: Final = {
    TRIAL, PREFLIGHT, STATUS, VERIFY, VERSION, NODES, DEPRECATED, PARTS, HISTORY, KEPT,
    POLICIES, HOOKS,
}  # fmt: skip


def test_every_command_of_the_page_is_tried() -> None:
    """None is added that nobody has run."""
    assert set(COMMANDS) == TRIED


@pytest.fixture
def typed(apiserver: ApiServer, helm: Helm, tmp_path: Path) -> Typed:
    """Kubectl, Helm and sallyport, and a kubeconfig where they look for one."""
    return at_a_terminal(apiserver, helm, tmp_path, COMMANDS)


@pytest.mark.usefixtures("taken_away")
async def test_what_is_checked_before_and_after(
    admin: Client, apiserver: ApiServer, typed: Typed, tmp_path: Path
) -> None:
    """An installation without a running gate: what must be well is, and what is not is told."""
    typed.helm.install(apiserver.kubeconfig(), {})
    trial = {"test-cluster.kubeconfig": str(apiserver.kubeconfig())}
    for said in (typed.well(TRIAL, **trial), typed.well(PREFLIGHT)):
        assert "1.37" in said
    for command in (STATUS, VERIFY):
        code, said = typed(command)
        assert code == 1, said
    assert '"minor": "37"' in typed.well(VERSION)
    assert "No resources found" in typed.well(NODES)
    assert not re.search(r'removed_release="1\.3[5-9]"', typed(DEPRECATED)[1])
    parts = typed.well(PARTS)
    assert "ALLOWED DISRUPTIONS" in parts
    for name in ("deployment.apps/sallyport-gate", "poddisruptionbudget.policy/sallyport-gate"):
        assert name in parts
    assert "deployed" in typed.well(HISTORY)
    objects = tmp_path / "objects.yaml"
    typed.well(KEPT, **{"sallyport-objects.yaml": str(objects)})
    assert "kind: ContainerProfile" in objects.read_text()
    await _until_typed(admin, apiserver, tmp_path)
    _require_policies(typed.well(POLICIES))
    hooks = typed.well(HOOKS)
    for name in ("sallyport", "sallyport-discovered"):
        assert len(re.findall(rf"/{name}\s", hooks)) == 2
    assert (await admin.get("v1", "Namespace", TEAM))["metadata"]["name"] == TEAM


async def _until_typed(admin: Client, apiserver: ApiServer, folder: Path) -> None:
    """Have Kubernetes' controller type the expressions of all policies."""
    (folder / "controllers").mkdir()
    controllers = ControllerManager(
        folder / "controllers", apiserver, "validatingadmissionpolicy-status-controller"
    )
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    try:
        async with asyncio.timeout(60):
            while True:
                _, found = await admin.request("GET", path)
                if all(
                    (each.get("status") or {}).get("observedGeneration") for each in found["items"]
                ):
                    return
                await asyncio.sleep(0.2)
    finally:
        controllers.stop()


def _require_policies(said: str) -> None:
    """Demand that the guards are there, with no warning but the one that the page names."""
    ours = re.findall(r"^(\S+[.]sallyport[.]dev) +(.*)$", said, re.MULTILINE)
    assert {"kinds-guard.sallyport.dev", "status-guard.sallyport.dev"} <= {name for name, _ in ours}
    warned = {name: told for name, told in ours if told != "<none>"}
    assert list(warned) == ["revision-guard.sallyport.dev"], said
    (told,) = warned.values()
    assert "Kind=ControllerRevision: ERROR" in told
    assert set(re.findall(r"ERROR: .*", said.partition("WARNINGS")[2])) == set(
        re.findall(r"ERROR: .*undefined field 'status'", said)
    )
