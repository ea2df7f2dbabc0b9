"""What rules say to people: sentences that are true of each kind of object that they find."""

import re
from pathlib import Path
from typing import Any

import pytest

from admission.model.messages import privilege_message
from core.decision.request import Kind
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import Folder, decide, request


@pytest.mark.parametrize(
    ("rule", "privilege", "says"),
    [
        ("volume/host_path", "volume/hostPath:rw/var/log", "reaches /var/log of the node"),
        ("volume/host_path", "volume/hostPath:ro/%2F", "reaches / of the node"),
        ("volume/host_path", "volume/hostPath:rw/%2E%2E/etc", "reaches /../etc of the node"),
        (
            "scheduling/toleration",
            "scheduling/tolerate/everything",
            "tolerates taints of nodes that are not for workloads (everything)",
        ),
        (
            "scheduling/priority",
            "scheduling/priority/system-node-critical",
            "uses or makes a priority that evicts others (system-node-critical)",
        ),
        (
            "scheduling/priority",
            "scheduling/priority-default",
            "uses or makes a priority that evicts others (priority-default)",
        ),
        ("dns/settings", "dns/policy/None", "resolves names past the cluster's DNS (None)"),
        ("dns/settings", "dns/nameserver/::1", "resolves names past the cluster's DNS (::1)"),
        ("limits/unset", "limits/unset/cpu", "has no limit of cpu"),
    ],
)
def test_a_message_reads_as_a_sentence(
    engine: EmbeddedEngine, rule: str, privilege: str, says: str
) -> None:
    """Whatever the privilege's last segments are, the root of the node among them."""
    assert privilege_message(engine.rules[f"privileges/{rule}"].message, privilege) == says


def test_messages_with_a_rest_are_never_left_empty(engine: EmbeddedEngine) -> None:
    """A privilege of two segments fills `{rest}` with its second."""
    messages = [rule.message for rule in engine.rules.values() if "{rest}" in rule.message]
    assert len(messages) > 5
    for message in messages:
        said = privilege_message(message, "some/thing")
        assert "thing" in said
        assert "{" not in said


OPAQUE = {"config": [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {}}}]}
CASES: dict[str, tuple[Kind, dict[str, Any], str, str]] = {
    "hostPath volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"hostPath": {"path": "/"}}},
        "spec.hostPath",
        "spec.claimRef",
    ),
    "local volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"local": {"path": "/dev/sda"}}},
        "spec.local",
        "spec.claimRef",
    ),
    "claim for devices": (
        Kind("ResourceClaim", "v1", "resource.k8s.io"),
        {"spec": {"devices": OPAQUE}},
        "spec.devices.config[0].opaque",
        "name a DeviceClass",
    ),
    "template": (
        Kind("ResourceClaimTemplate", "v1", "resource.k8s.io"),
        {"spec": {"spec": {"devices": OPAQUE}}},
        "spec.spec.devices.config[0].opaque",
        "name a DeviceClass",
    ),
    "device class": (
        Kind("DeviceClass", "v1", "resource.k8s.io"),
        {"spec": OPAQUE},
        "spec.config[0].opaque",
        "DeviceClass objects are made by the administrator",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_finding_names_the_field_that_is_there_and_a_way_out(
    engine: EmbeddedEngine, tmp_path: Path, case: str
) -> None:
    """Under the name that the author wrote; a remedy names no field that the kind has not."""
    kind, fields, path, way = CASES[case]
    namespace = "train" if "Claim" in kind.kind else ""
    made = {"metadata": {"name": "x"}, **fields}
    folder = Folder(tmp_path / "cluster").profile("bare", 1)
    folder.grant("User:alice@example.com", "bare")
    asked = request(made, kind=kind, namespace=namespace, name="x")
    (finding,) = (await decide(folder.cluster(), engine, asked)).findings
    assert finding.path == path
    assert way in finding.remedy
    named = re.findall(r"spec\.[a-zA-Z.]+[a-zA-Z]", finding.remedy)
    assert set(named) <= {"spec.claimRef"}
