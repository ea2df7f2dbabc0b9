"""`sallyport support-bundle` holds what a maintainer needs, and no secret and nobody's name."""

import datetime as dt
import io
import json
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any, Final

from cli.flags import read_flags
from cli.support_bundle.archive import ROOT
from cli.support_bundle.run import SupportBundle, make_bundle
from core.people.subject import pseudonymous_user
from tests.api.record.installation import PROGRAM
from tests.api.status.installed_status import MERGE, PODS, InstalledStatus
from tests.api.status.kubelet_logs import kubelet, show_node
from tests.harness.evidence import ROOT as REPOSITORY
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.programs.helm import NAMESPACE
from tests.harness.worlds import rbac

CANARY: Final = "c4naryV4lue"
PERSON: Final = "zoe-canary"
MAIL: Final = "yan.canary@example.com"
LINES: Final = (
    f'{{"event": "cannot list", "why": "pods is forbidden: User \\"{PERSON}\\" cannot list"}}\n'
    f"login of {MAIL} with password={CANARY}\n"
    f"{PERSON} connects to postgresql://sallyport:{CANARY}@db.example/ledger\n"
    f"Authorization: Bearer {CANARY}.{CANARY}\n"
    "a line that stays\n"
)


def opened(content: bytes) -> dict[str, bytes]:
    """Return the files of a bundle by their paths."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = {}
        for each in archive.getmembers():
            file = archive.extractfile(each)
            assert file is not None
            found[each.name.removeprefix(f"{ROOT}/")] = file.read()
        return found


async def bundle_of(installed: InstalledStatus, user: str = "admin") -> SupportBundle:
    """Make one, as a user."""
    kubeconfig = installed.installation.apiserver.kubeconfig(user)
    settings = read_flags(None, kubeconfig=kubeconfig)
    return await make_bundle(settings, 3600.0, lambda: dt.datetime.now(dt.UTC))


async def plant(admin: Client) -> None:
    """Put canaries wherever a bundle looks, and where it must not look."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "planted",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/name": "sallyport"},
        },
        "stringData": {"token": CANARY},
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "planted",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/name": "sallyport"},
        },
        "data": {"config.yaml": f"password: {CANARY}", "people": PERSON},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "planted", "namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "name": "x", "namespace": NAMESPACE},
        "reason": "Planted",
        "type": "Warning",
        "message": f"{PERSON} used token={CANARY}",
        "lastTimestamp": f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    await admin.apply([secret, config_map, event])
    view = rbac.rule([""], "pods", "list")
    await admin.apply(rbac.grant("planted", view, rbac.user(PERSON), namespace=NAMESPACE))
    container = {"name": "gate", "env": [{"name": "A", "value": CANARY}]}
    patches: tuple[tuple[str, Json], ...] = (
        (
            f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sallyport-gate",
            {
                "metadata": {"annotations": {"example.org/note": f"{PERSON} {CANARY}"}},
                "spec": {"template": {"spec": {"containers": [container]}}},
            },
        ),
        (
            f"/api/v1/namespaces/{NAMESPACE}/pods/{PODS['gate'][0]}",
            {"metadata": {"annotations": {"example.org/token": CANARY}}},
        ),
    )
    for path, patch in patches:
        kind = "application/strategic-merge-patch+json" if "spec" in patch else MERGE
        code, answer = await admin.request("PATCH", path, patch, content_type=kind)
        assert code == 200, answer


async def test_a_bundle_is_whole_and_holds_no_canary(
    installed: InstalledStatus, admin: Client
) -> None:
    """Planted in a Secret, a ConfigMap, an Event, environment, annotations, RBAC and logs."""
    await plant(admin)
    await show_node(admin)
    logs = {f"{pod}/{process}": LINES for process, (pod, _) in PODS.items()}
    with kubelet(installed, logs):
        made = await bundle_of(installed)
    files = opened(made.content)
    assert made.manifest.left_out == []
    listed = json.loads(files["MANIFEST.json"])
    assert [each["path"] for each in listed["files"]] == sorted(files.keys() - {"MANIFEST.json"})
    for name, content in files.items():
        for canary in (CANARY, PERSON, MAIL):
            assert canary.encode() not in content, (name, canary)
    for process, (pod, _) in PODS.items():
        log = files[f"logs/{pod}/{process}.log"].decode()
        assert "a line that stays" in log
        assert pseudonymous_user(PERSON) in log
        assert pseudonymous_user(MAIL) in log
        assert b"sallyport_" in files[f"metrics/{pod}.txt"]
        assert b"readyz check passed" in files[f"readyz/{pod}.txt"]
    assert json.loads(files["status.json"])["processes"]
    assert [each["reason"] for each in json.loads(files["events.json"])].count("Planted") == 1
    gate: dict[str, Any] = json.loads(files["objects/configmaps/sallyport-gate.json"])
    assert gate["data"]["config.yaml"]["default_mode"] == "audit"
    assert "objects/validatingwebhookconfigurations/sallyport.json" in files
    assert "objects/networkpolicies/sallyport-gate.json" in files
    assert listed["redacted"]["secrets"] > 0
    assert listed["redacted"]["names"] > 0


async def test_what_a_right_is_missing_for_is_named(
    installed: InstalledStatus, admin: Client
) -> None:
    """Nothing fails for it: the rest is there, and the name of whoever asks is not."""
    made = await bundle_of(installed, "alice")
    files = opened(made.content)
    left_out = {each.what for each in made.manifest.left_out}
    assert {"pods", "deployments", "events.json", "configmaps/gate"} <= left_out
    assert {"names of people in rolebindings", "egress-doctor.json"} <= left_out
    assert {"MANIFEST.json", "status.json", "versions.json"} == files.keys()
    assert all(b"alice" not in content for content in files.values())


async def test_the_rights_of_the_page_are_enough(installed: InstalledStatus, admin: Client) -> None:
    """Both roles that the page gives, and what everyone may read."""
    text = (REPOSITORY / "docs/operate/status.md").read_text()
    items = []
    for number, block in enumerate(text.split("```yaml\n")[1:]):
        file = installed.installation.folder / f"bundle-rights-{number}.yaml"
        file.write_text(block.partition("```")[0])
        items += read_objects(file)
    await admin.apply(items)
    bob = rbac.user("bob")
    for item in items:
        namespace = item["metadata"].get("namespace")
        await admin.apply([rbac.binding(item["metadata"]["name"], bob, namespace=namespace)])
    await show_node(admin)
    deadline = time.monotonic() + 10.0
    with kubelet(installed, {}):
        made = await bundle_of(installed, "bob")
        while made.manifest.left_out and time.monotonic() < deadline:
            made = await bundle_of(installed, "bob")
    assert made.manifest.left_out == []


def test_the_command_writes_a_file_once(installed: InstalledStatus, tmp_path: Path) -> None:
    """It says what is not in it, by exit code and on standard error, and overwrites nothing."""
    file = tmp_path / "case.tar.gz"
    command: list[str | Path] = [
        PROGRAM,
        "support-bundle",
        "--kubeconfig",
        installed.kubeconfig,
        "-o",
        file,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)
    assert done.returncode == 2, done.stderr
    assert "not in it: log of sallyport-auditor-0/auditor: " in done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert done.stdout.startswith(f"{file}: ")
    assert "status.json" in opened(file.read_bytes())
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert again.returncode == 64
    assert again.stderr == f"sallyport: --output {file}: is there already; name another file\n"
