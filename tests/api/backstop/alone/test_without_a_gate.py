"""While no gate runs the worst stays out, and what may be still comes in."""

import asyncio
from typing import Any

import pytest
import yaml

from policies.backstop.rules import COVERED
from tests.api.backstop.alone.conftest import SPACE
from tests.api.backstop.installed_backstop import (
    GROUPS,
    MAP_PATH,
    changed,
    comes_to,
    is_refusal,
    kept,
    status_of,
)
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect
from tests.harness.worlds.pods import RESTRICTED
from tests.harness.worlds.rbac import binding, service_account, user

RULES = [each.rule for each in COVERED]
DAEMONS = "system:serviceaccount:kube-system:daemon-set-controller"


def fixture(rule: str, which: str) -> Json:
    """Return a rule's own example."""
    item: Json = yaml.safe_load((ROOT / "policies/rego" / rule / f"{which}.yaml").read_text())
    item["metadata"].pop("namespace", None)
    return item


def host_path(path: str = "/var/log", *, read_only: bool = True, **source: Any) -> Json:
    """Return a Pod that mounts a path of the node."""
    pod = RESTRICTED.pod()
    pod["spec"]["volumes"] = [{"name": "h", "hostPath": {"path": path, **source}}]
    mount = {"name": "h", "mountPath": "/h", "readOnly": read_only}
    pod["spec"]["containers"][0]["volumeMounts"] = [mount]
    return pod


@pytest.mark.parametrize("rule", RULES)
async def test_each_rule_is_held(nobody: Client, holder: Client, rule: str) -> None:
    """Its example is refused, with the remedy; who may use a profile that covers it has it."""
    refused, admitted = fixture(rule, "refused"), fixture(rule, "admitted")
    status, message = await status_of(nobody, refused, SPACE)
    assert status == 403
    assert is_refusal(message)
    assert "no profile that you may use in namespace backstop-alone covers all of: " in message
    assert (await status_of(nobody, admitted, SPACE))[0] == 201
    assert (await status_of(holder, refused, SPACE))[0] == 201


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (host_path("/var/log"), 201),
        (host_path("//var/./log/pods/"), 201),
        (host_path("/var/log", read_only=False), 403),
        (host_path("/var/log", type="DirectoryOrCreate"), 403),
        (host_path("/var"), 403),
        (host_path("/var/logs"), 403),
        (host_path("/"), 403),
    ],
    ids=str,
)
async def test_paths_are_told_apart(admin: Client, pod: Json, expected: int) -> None:
    """Who may read logs may read logs, and neither write them nor read anything else."""
    reader = admin.as_user("log-agent", GROUPS)
    status, message = await status_of(reader, pod, SPACE)
    assert status == expected, message


async def test_the_message_says_what_to_change(nobody: Client) -> None:
    """All that is needed, by which container, and each remedy once."""
    pod = changed(host_path(), hostNetwork=True)
    pod["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = ["SYS_ADMIN"]
    _, message = await status_of(nobody, pod, SPACE)
    assert "host/network, volume/hostPath:ro/var/log, capability/SYS_ADMIN (container " in message
    assert message.count("Remove spec.hostNetwork or set it to false.") == 1


async def test_controllers_stand_on_the_service_account(admin: Client) -> None:
    """A node agent's Pod comes in by its account's right, and the controller's own never counts."""
    await admin.create_service_account("agent", SPACE)
    subject = service_account("agent", SPACE)
    await admin.apply([binding("use-pss-privileged", subject, name="agents")])
    await admin.apply([binding("use-pss-privileged", user(DAEMONS), name="daemons")])
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    controller = admin.as_user(DAEMONS, GROUPS)
    pod = changed(RESTRICTED.pod(), hostPID=True)
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    message = (await status_of(controller, pod, SPACE))[1]
    assert "no profile that its service account default may use" in message
    await comes_to(controller, changed(pod, serviceAccountName="agent"), SPACE, 201)
    # Whoever else writes an owner needs the right, and so does the account.
    other = admin.as_user("pss-privileged", GROUPS)
    assert "you and its service account default both" in (await status_of(other, pod, SPACE))[1]
    assert (await status_of(other, changed(pod, serviceAccountName="agent"), SPACE))[0] == 201


async def test_what_the_gate_does_not_enforce_is_not_held(admin: Client, nobody: Client) -> None:
    """Namespaces that only watch, and those that are left out; another word is `enforce`."""
    pod = changed(RESTRICTED.pod(), hostPID=True)
    for mode, expected in (("audit", 201), ("warn", 201), ("enforce", 403), ("adit", 403)):
        await admin.create_namespace(f"backstop-{mode}", {"sallyport.dev/mode": mode})
        await comes_to(nobody, pod, f"backstop-{mode}", expected)
    await admin.create_service_account("default", "kube-system")
    assert (await status_of(nobody, pod, "kube-system"))[0] == 201


async def test_a_ceiling_holds_for_everyone(admin: Client) -> None:
    """An administrator of the whole cluster too."""
    metadata = {"name": "backstop-low", "annotations": {"sallyport.dev/ceiling": "x, log-agent"}}
    await admin.create_namespace("backstop-low")
    await admin.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
    await comes_to(admin, changed(RESTRICTED.pod(), hostPID=True), "backstop-low", 403)
    assert (await status_of(admin, host_path(), "backstop-low"))[0] == 201


async def test_debug_containers_are_held(admin: Client, nobody: Client, holder: Client) -> None:
    """A privileged one is refused in a Pod that runs; an update that adds none is not."""
    made = RESTRICTED.pod()
    made["metadata"] = {"name": "entered", "namespace": SPACE}
    await admin.create(made)
    debug = {"name": "d", "image": "x", "securityContext": {"privileged": True}}
    answer = await nobody.dry_run_ephemeral_containers("entered", SPACE, [debug])
    assert is_refusal(answer.message)
    plain = {"name": "d", "image": "x"}
    answer = await nobody.dry_run_ephemeral_containers("entered", SPACE, [plain])
    assert not answer.message
    answer = await holder.dry_run_ephemeral_containers("entered", SPACE, [debug])
    assert not answer.message
    await admin.delete(made)


async def test_static_pods_show_themselves(admin: Client) -> None:
    """What a node runs anyway is shown; the annotation alone helps nobody."""
    pod = changed(RESTRICTED.pod(), hostPID=True, nodeName="a")
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    node = admin.as_user("system:node:a", ("system:nodes", *GROUPS))
    # ServiceAccount admission has its own rules for mirror Pods, none of which is about this.
    assert not is_refusal((await status_of(node, pod, SPACE))[1])
    assert is_refusal((await status_of(admin.as_user("a", GROUPS), pod, SPACE))[1])


async def test_a_missing_configmap_locks_nobody_out(backstopped: ApiServer) -> None:
    """Without it nothing is held, and control puts it back, as it does what somebody changed."""
    pod = changed(RESTRICTED.pod(), hostPID=True)
    async with connect(backstopped) as admin:
        nobody = admin.as_user("nobody", GROUPS)
        await admin.request("DELETE", MAP_PATH)
        await comes_to(nobody, pod, SPACE, 201)
        async with kept(backstopped):
            await comes_to(nobody, pod, SPACE, 403)
        merge = "application/merge-patch+json"
        patch = {"spec": {"data": {"profiles": "", "glass.x": "y", "format": "9"}}}
        await admin.request("PATCH", MAP_PATH, patch, content_type=merge)
        await comes_to(nobody, pod, SPACE, 201)
        async with kept(backstopped):
            await comes_to(nobody, pod, SPACE, 403)
            await admin.request("DELETE", MAP_PATH)
            await asyncio.sleep(1)
            await comes_to(nobody, pod, SPACE, 403)
        _, found = await admin.request("GET", MAP_PATH)
        assert "glass.x" not in found["spec"]["data"]
