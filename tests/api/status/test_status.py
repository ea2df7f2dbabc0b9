"""`sallyport status` says what holds, what does not and what could not be asked, and no more."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import pytest

from cli.flags import read_flags
from cli.shared.cluster_status.model import AreaState, InstallationStatus
from cli.shared.cluster_status.registrations import GUARDS
from cli.shared.cluster_status.run import DEADLINE_S, read_installation
from core.base.times import time_text
from tests.api.record.installation import GATE_POD, PROGRAM
from tests.api.status.installed_status import MERGE, PODS, InstalledStatus
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.programs.helm import NAMESPACE
from tests.harness.worlds import rbac

API: Final = "/apis/admissionregistration.k8s.io/v1"
VALIDATING: Final = f"{API}/validatingwebhookconfigurations/sallyport"
MUTATING: Final = f"{API}/mutatingwebhookconfigurations/sallyport"
GUARD: Final = "namespace-guard.sallyport.dev"
PAGE: Final = ROOT / "docs" / "operate" / "status.md"


async def status_of(installed: InstalledStatus, user: str = "admin") -> InstallationStatus:
    """Ask, as a user."""
    kubeconfig = installed.installation.apiserver.kubeconfig(user)
    began = time.monotonic()
    found = await read_installation(read_flags(None, kubeconfig=kubeconfig))
    assert time.monotonic() - began < DEADLINE_S + 2
    return found


def states(found: InstallationStatus) -> dict[str, str]:
    """Return how each area stands."""
    return {each.name: each.state.value for each in found.areas}


@asynccontextmanager
async def changed(client: Client, path: str, patch: Json) -> AsyncIterator[None]:
    """Change an object for a while."""
    _, before = await client.request("GET", path)
    code, answer = await client.request("PATCH", path, patch, content_type=MERGE)
    assert code == 200, answer
    try:
        yield
    finally:
        back = {key: before[key] for key in patch}
        await client.request("PATCH", path, back, content_type=MERGE)


@asynccontextmanager
async def without(client: Client, path: str) -> AsyncIterator[None]:
    """Delete an object for a while."""
    _, before = await client.request("GET", path)
    await client.request("DELETE", path)
    try:
        yield
    finally:
        for key in ("resourceVersion", "uid", "creationTimestamp", "generation"):
            before["metadata"].pop(key, None)
        code, answer = await client.request("POST", path.rpartition("/")[0], before)
        assert code == 201, answer


REGISTRATIONS: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-registrations"
COMPARED: Final = "sallyport_registration_healthy{"


@pytest.fixture
async def left(installed: InstalledStatus, admin: Client) -> AsyncIterator[None]:
    """What somebody changes stays as they left it: control is not told what the chart says."""

    async def until(*, compares: bool) -> None:
        deadline = time.monotonic() + 60.0
        while (COMPARED in installed.installation.metrics("control")) is not compares:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)

    await until(compares=True)
    _, configmap = await admin.request("GET", REGISTRATIONS)
    async with changed(admin, REGISTRATIONS, {"data": dict.fromkeys(configmap["data"], "[]")}):
        await until(compares=False)
        yield
    await until(compares=True)


async def test_a_whole_installation_is_well(installed: InstalledStatus) -> None:
    """Each area was asked, and none has anything for a person to do."""
    found = await status_of(installed)
    assert (found.problems, found.unknown, found.notes) == ([], [], [])
    assert (found.state, found.exit_code) == (AreaState.WELL, 0)
    assert found.summary.startswith("All is well: Sallyport enforces, 1 of 1 gates are ready")
    assert set(states(found).values()) == {"well", "off"}
    assert {name for name, state in states(found).items() if state == "off"} == {
        "egress",
        "identity",
    }
    assert {each.name: (each.wanted, each.ready) for each in found.processes} == dict.fromkeys(
        PODS, (1, 1)
    )
    assert found.modes is not None
    assert (found.modes.enforce, found.modes.warn) == (1, 0)
    assert len(found.registrations) == 2 + len(GUARDS) + 1
    assert len(found.certificates) > 3
    assert found.ledger is not None
    assert [each.pod for each in found.recording] == [PODS["gate"][0], PODS["control"][0]]


def test_the_command_prints_the_state_first(installed: InstalledStatus) -> None:
    """As an operator runs it: a sentence, and the exit code."""
    done = subprocess.run(
        [PROGRAM, "status", "--kubeconfig", installed.kubeconfig],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("All is well: ")
    assert done.returncode == 0


async def test_who_has_the_rights_of_the_page_sees_the_same(
    installed: InstalledStatus, admin: Client
) -> None:
    """What the page lists is enough, and nothing of it is too much."""
    text = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    file = installed.installation.folder / "rights.yaml"
    file.write_text(text)
    role, cluster_role = read_objects(file)
    bob = rbac.user("bob")
    await admin.apply([role, cluster_role])
    await admin.apply([rbac.binding("sallyport-status", bob, namespace=NAMESPACE)])
    await admin.apply([rbac.binding("sallyport-status", bob)])
    deadline = time.monotonic() + 10.0
    while (his := await status_of(installed, "bob")).unknown and time.monotonic() < deadline:
        pass
    assert his.unknown == []
    assert states(his) == states(await status_of(installed))
    group = "/apis/rbac.authorization.k8s.io/v1"
    for item, path in (
        (role, f"{group}/namespaces/{NAMESPACE}/roles/sallyport-status"),
        (cluster_role, f"{group}/clusterroles/sallyport-status"),
    ):
        for rule in item["rules"]:
            less = {"rules": [each for each in item["rules"] if each is not rule]}
            async with changed(admin, path, less):
                without_it = await until_something_is_unknown(installed, "bob")
            assert without_it.exit_code == 2, rule


async def until_something_is_unknown(installed: InstalledStatus, user: str) -> InstallationStatus:
    """Ask until kube-apiserver has taken a right away: it follows roles by a watch."""
    deadline = time.monotonic() + 10.0
    while True:
        found = await status_of(installed, user)
        if found.unknown:
            return found
        assert time.monotonic() < deadline


async def test_who_has_no_right_is_told_which_areas_are_unknown(
    installed: InstalledStatus,
) -> None:
    """Nothing is taken for well, and the refusals do not name whoever asks."""
    found = await status_of(installed, "alice")
    assert found.exit_code == 2
    assert found.summary.startswith("Not known whether all is well: registrations, processes")
    assert {name for name, state in states(found).items() if state == "well"} == {"kubernetes"}
    text = msgspec.json.encode(found).decode()
    assert "docs/operate/status.md#rights" in text
    assert "alice" not in text


@pytest.mark.usefixtures("left")
@pytest.mark.parametrize(
    ("path", "says"),
    [
        (VALIDATING, "validatingwebhookconfigurations sallyport is not there: nothing is judged"),
        (MUTATING, "mutatingwebhookconfigurations sallyport is not there"),
        (f"{API}/validatingadmissionpolicies/{GUARD}", f"{GUARD}: the policy is not there"),
        (f"{API}/validatingadmissionpolicybindings/{GUARD}", f"{GUARD}: the binding is not there"),
    ],
)
async def test_a_registration_that_is_gone_is_named(
    installed: InstalledStatus, admin: Client, path: str, says: str
) -> None:
    """With what puts it back."""
    async with without(admin, path):
        found = await status_of(installed)
    (problem,) = found.problems
    assert problem.what.startswith(says)
    assert "control puts it back" in problem.first
    assert states(found)["registrations"] == "problem"
    assert (found.exit_code, found.summary[:10]) == (1, "Not well: ")


@pytest.mark.usefixtures("left")
async def test_a_webhook_that_fails_open_or_is_gone_is_named(
    installed: InstalledStatus, admin: Client
) -> None:
    """Each by its name, as critical."""
    _, body = await admin.request("GET", VALIDATING)
    hooks = [each for each in body["webhooks"] if each["name"] != "rights.sallyport.dev"]
    hooks[0] = hooks[0] | {"failurePolicy": "Ignore"}
    async with changed(admin, VALIDATING, {"webhooks": hooks}):
        found = await status_of(installed)
    lacks, open_ = sorted(each.what for each in found.problems)
    assert "lacks rights.sallyport.dev" in (lacks, open_)[1]
    assert lacks.startswith("validate.sallyport.dev: failurePolicy is Ignore")
    assert {each.severity for each in found.problems} == {"critical"}


@pytest.mark.usefixtures("left")
async def test_a_binding_that_does_not_deny_is_named(
    installed: InstalledStatus, admin: Client
) -> None:
    """A guard that only audits guards nothing."""
    path = f"{API}/validatingadmissionpolicybindings/{GUARD}"
    _, body = await admin.request("GET", path)
    spec = body["spec"] | {"validationActions": ["Audit"]}
    async with changed(admin, path, {"spec": spec}):
        found = await status_of(installed)
    (problem,) = found.problems
    assert problem.what == f"ValidatingAdmissionPolicy {GUARD}: its binding does not deny"


@pytest.mark.parametrize(
    "path",
    [VALIDATING, MUTATING, f"{API}/validatingadmissionpolicies/{GUARD}"],
)
async def test_what_somebody_deletes_is_told_and_back_within_a_minute(
    installed: InstalledStatus, admin: Client, path: str
) -> None:
    """By the processes themselves: not well at first, and then all is well again."""
    began = time.monotonic()
    assert (await admin.request("DELETE", path))[0] == 200
    found = await status_of(installed)
    assert (found.state.value, found.problems[0].area) == ("problem", "registrations")
    while (found := await status_of(installed)).state.value != "well":
        assert time.monotonic() - began < 60.0, found.problems
        await asyncio.sleep(1.0)
    _, made = await admin.request("GET", path)
    assert made["metadata"]["ownerReferences"][0]["name"] == "sallyport-control"
    _, events = await admin.request("GET", "/api/v1/namespaces/default/events")
    told = [each for each in events["items"] if each["reason"] == "RegistrationRestored"]
    assert made["metadata"]["name"] in {each["involvedObject"]["name"] for each in told}


async def test_no_gate_is_ready(installed: InstalledStatus, admin: Client) -> None:
    """It is the worst, and what the gate hangs on could not be asked: that is said, not guessed."""
    gate = installed.installation.processes["gate"]
    os.kill(gate.pid, signal.SIGSTOP)
    try:
        await installed.show(admin, "gate", ready=False)
        found = await status_of(installed)
    finally:
        os.kill(gate.pid, signal.SIGCONT)
        await installed.show(admin, "gate")
    assert found.problems[0].what.startswith("no gate is ready: kube-apiserver refuses")
    assert found.problems[0].see == "docs/operate/alerts.md#sallyportnogateready"
    assert found.exit_code == 1
    assert any(GATE_POD in each.why for each in found.unknown)


async def test_the_processes_own_reason_is_told(installed: InstalledStatus, admin: Client) -> None:
    """Nobody leads since control gave up its Lease; the auditor is away and records wait."""
    made = installed.installation
    for name in ("control", "auditor"):
        made.processes[name].stop()
        await installed.show(admin, name, ready=False)
    try:
        found = await status_of(installed)
    finally:
        made.start_auditor()
        await made.start_control(admin)
        for name in ("control", "auditor"):
            await installed.show(admin, name)
        await installed.until_certificates_are_known()
    whats = [each.what for each in found.problems]
    assert whats[:2] == [
        "no control is ready: certificates, egress rules and risk are not renewed",
        "the auditor is not ready: records wait in the spools",
    ]
    nobody = next(each for each in whats if each.startswith("nobody leads: "))
    assert f"is nobody's since {time_text(time.time())[:10]}" in nobody
    assert found.leader is not None
    assert found.leader.holder == ""
    assert states(found)["certificates"] == "unknown"
    assert states(found)["ledger"] == "unknown"


async def test_etcd_hangs(installed: InstalledStatus) -> None:
    """It ends in time, says what kube-apiserver lacks, and takes nothing for well."""
    etcd = installed.installation.apiserver.etcd_pid
    os.kill(etcd, signal.SIGSTOP)
    try:
        found = await status_of(installed)
    finally:
        os.kill(etcd, signal.SIGCONT)
    (problem,) = found.problems
    assert problem.what == "kube-apiserver says that it is not ready (500)"
    assert (found.state, found.exit_code) == (AreaState.PROBLEM, 1)
    for name in ("registrations", "processes", "leader", "modes", "approvals", "recording"):
        assert states(found)[name] == "unknown", name
