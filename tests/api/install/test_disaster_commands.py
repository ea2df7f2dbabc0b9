"""docs/operate/disaster.md: each command as it stands there, by the programs themselves."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli import exits
from control.certificates.loop import Certificates
from kube.client.objects import open_objects
from tests.api.control.certificates.secrets import FOREVER
from tests.api.install.conftest import TEAM
from tests.api.install.questions import be_ready, created, registrations
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import STRATEGIC_MERGE_PATCH, Client
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.helm import ASKED, AT_ONCE, IMAGE, NAMESPACE, OPEN, Helm
from tests.harness.sizes import PROOF

PAGE = (ROOT / "docs" / "operate" / "disaster.md").read_text()
COMMANDS = [
    *re.findall(r"^    ((?:kubectl|helm|sallyport) .+)$", PAGE, re.MULTILINE),
    *re.findall(r"`(kubectl [^`]+)`", PAGE),
]
VERIFY = "sallyport verify --kubeconfig ~/.kube/config"
LABEL = "kubectl label namespace NAMESPACE sallyport.dev/mode=audit --overwrite"
SWITCH_OFF = (
    "kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration "
    "sallyport sallyport-discovered"
)
STOP_CONTROL = "kubectl -n sallyport-system scale deployment/sallyport-control --replicas=0"
START_CONTROL = "kubectl -n sallyport-system scale deployment/sallyport-control --replicas=2"
POLICIES = "kubectl get validatingadmissionpolicybinding"
POLICY = "kubectl delete validatingadmissionpolicybinding namespace-guard.sallyport.dev"
STATUS = "kubectl -n sallyport-system rollout status deployment/sallyport-gate"
UPGRADE = (
    "helm upgrade sallyport helm/sallyport --namespace sallyport-system --reset-then-reuse-values"
)
DESCRIBE = "kubectl -n sallyport-system describe pods"
FORCED = f"{UPGRADE} --force-conflicts"
CREATE = "kubectl create namespace sallyport-system"
INSTALL = (
    "helm upgrade --install sallyport helm/sallyport --namespace sallyport-system --values VALUES"
)
RESTART = (
    "kubectl -n sallyport-system rollout restart deployment/sallyport-control "
    "deployment/sallyport-gate"
)
LEDGER = (
    "sallyport decisions --source sweep --verdict deny",
    "sallyport ledger verify --anchor FILE",
)
"""What they say of a ledger that is there: tests/unit/cli."""
TRIED = {
    VERIFY, LABEL, SWITCH_OFF, POLICIES, POLICY, STATUS, UPGRADE, DESCRIBE, FORCED, CREATE,
    INSTALL, RESTART, STOP_CONTROL, START_CONTROL, *LEDGER,
}  # fmt: skip

proof = pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")


def test_every_command_of_the_page_is_tried() -> None:
    """None is added that nobody has run."""
    assert set(COMMANDS) == TRIED


@dataclass(frozen=True)
class Typed:
    """What a person types at a terminal, with a folder of programs and a home of their own."""

    home: Path
    helm: Helm
    commands: Collection[str]
    """Those of the page."""

    def __call__(self, command: str, **words: str) -> tuple[int, str]:
        """Run a command of the page, each placeholder filled in; give code and all it says."""
        assert command in self.commands
        for word, value in words.items():
            assert word in command
            command = command.replace(word, value)
        own = {f"HELM_{kind}_HOME": str(self.helm.folder) for kind in ("CACHE", "CONFIG", "DATA")}
        config = str(self.home / ".kube" / "config")
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],  # noqa: S607 -- as a person does
            cwd=ROOT,
            env={**os.environ, **own, "HOME": str(self.home), "KUBECONFIG": config, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def well(self, command: str, **words: str) -> str:
        """Run it; it must end with 0."""
        code, said = self(command, **words)
        assert code == 0, said
        return said


def at_a_terminal(apiserver: ApiServer, helm: Helm, home: Path, commands: Collection[str]) -> Typed:
    """Put kubectl, Helm, sallyport and a kubeconfig where a person's shell looks for them."""
    folder = home / "bin"
    folder.mkdir()
    for name, program in (
        ("kubectl", require("kubectl")),
        ("helm", helm.program),
        ("sallyport", PROGRAM),
    ):
        (folder / name).symlink_to(program)
    (home / ".kube").mkdir()
    shutil.copyfile(apiserver.kubeconfig(), home / ".kube" / "config")
    return Typed(home, helm, commands)


@pytest.fixture
def typed(apiserver: ApiServer, helm: Helm, tmp_path: Path) -> Typed:
    """Kubectl, Helm and sallyport, and a kubeconfig where they look for one."""
    return at_a_terminal(apiserver, helm, tmp_path, COMMANDS)


@pytest.mark.proof
@proof
@pytest.mark.usefixtures("taken_away")
async def test_the_ways_out_in_their_order(
    admin: Client, apiserver: ApiServer, typed: Typed
) -> None:
    """From Pods that are refused, for want of a gate, to webhooks that are registered again."""
    typed.helm.install(apiserver.kubeconfig(), {})
    assert (await created(admin))[0] == 500
    code, said = typed(VERIFY)
    assert (code, "failed calling webhook" in said) == (1, True)
    typed.well(DESCRIBE)
    code, said = typed(LABEL, NAMESPACE=TEAM)
    assert (code, "failed calling webhook" in said) == (1, True)

    typed.well(STOP_CONTROL)
    assert typed.well(SWITCH_OFF).count("deleted") == 4
    assert (await created(admin))[0] == 201
    typed.well(LABEL, NAMESPACE=TEAM)
    assert "\nnamespace-guard.sallyport.dev" in typed.well(POLICIES)
    typed.well(POLICY)
    assert "\nnamespace-guard.sallyport.dev" not in typed.well(POLICIES)
    assert typed(VERIFY)[0] == 1

    assert typed.well(RESTART).count("restarted") == 2
    await roll_out(admin)
    assert "successfully rolled out" in typed.well(STATUS)
    typed.well(START_CONTROL)
    typed.well(UPGRADE)
    assert await registrations(admin) == [200] * 4
    await by_hand(admin)
    code, said = typed(UPGRADE)
    assert (code, "conflict" in said, ".image" in said) == (1, True, True)
    typed.well(FORCED)
    assert "\nnamespace-guard.sallyport.dev" in typed.well(POLICIES)


async def by_hand(client: Client) -> None:
    """Change the gate's image, as `kubectl set image` does."""
    container = {"name": "gate", "image": "registry.example/sallyport:2"}
    status, answer = await client.request(
        "PATCH",
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sallyport-gate",
        {"spec": {"template": {"spec": {"containers": [container]}}}},
        parameters={"fieldManager": "kubectl-set"},
        content_type=STRATEGIC_MERGE_PATCH,
    )
    assert status == 200, answer


async def roll_out(client: Client) -> None:
    """Say, as a controller would, that the newest gates are ready."""
    await be_ready(client, 2)
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sallyport-gate"
    _, found = await client.request("GET", path)
    status = {"updatedReplicas": 2, "observedGeneration": found["metadata"]["generation"]}
    changed, answer = await client.request(
        "PATCH",
        f"{path}/status",
        {"status": status},
        content_type="application/merge-patch+json",
    )
    assert changed == 200, answer


@pytest.mark.proof
@proof
@pytest.mark.usefixtures("taken_away")
async def test_a_namespace_that_was_deleted_is_made_again(
    admin: Client, apiserver: ApiServer, typed: Typed, tmp_path: Path
) -> None:
    """It goes, with guards and webhooks in force; the release is taken up; control trusts anew."""
    typed.helm.install(apiserver.kubeconfig(), {})
    async with open_objects(apiserver.kubeconfig()) as objects:
        await Certificates(objects, NAMESPACE, "test-1").run(FOREVER)
    folder = tmp_path / "controllers"
    folder.mkdir()
    controllers = ControllerManager(folder, apiserver, "namespace-controller")
    try:
        path = f"/api/v1/namespaces/{NAMESPACE}"
        assert (await admin.request("DELETE", path))[0] == 200
        await admin.wait_until_gone(path)
    finally:
        controllers.stop()
    assert await registrations(admin) == [200] * 4
    assert (await created(admin))[0] == 500
    code, said = typed(UPGRADE)
    assert code != 0, said
    values = tmp_path / "values.json"
    values.write_text(json.dumps(IMAGE | OPEN | ASKED | AT_ONCE))
    typed.well(CREATE)
    typed.well(INSTALL, VALUES=str(values))
    assert await registrations(admin) == [200] * 4
    async with open_objects(apiserver.kubeconfig()) as objects:
        await Certificates(objects, NAMESPACE, "test-1").run(FOREVER)
    _, found = await admin.request(
        "GET", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/sallyport"
    )
    assert all(hook["clientConfig"].get("caBundle") for hook in found["webhooks"])


@pytest.mark.proof
@proof
def test_the_ledger_is_asked_as_the_page_says(typed: Typed, tmp_path: Path) -> None:
    """Both read it; here there is none, and they say so: what was typed is no wrong usage."""
    decisions, verify = LEDGER
    anchor = tmp_path / "prod.jsonl"
    anchor.touch()
    for code, said in (typed(decisions), typed(verify, FILE=str(anchor))):
        assert code == exits.NOT_JUDGED, said
        assert "there is no such file" in said
