"""What a Pod says of others' nodes, labels and identities is judged."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import Folder, decide, pod, request

ZONE = "topology.kubernetes.io/zone"
NODE = "kubernetes.io/hostname"
LEVEL = {"seLinuxOptions": {"level": "s0-s0:c0.c1023"}}
WINDOWS = {"os": {"name": "windows"}}
CONTEXT = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def away(**term: Any) -> dict[str, Any]:
    """Return a `spec` with one required anti-affinity."""
    terms = [{"labelSelector": {}, **term}]
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"podAntiAffinity": anti}}


def gangs_but(operator: str) -> dict[str, Any]:
    """Return a selector as JobSet writes it (pkg/webhooks/pod_mutating_webhook.go)."""
    key = "jobset.sigs.k8s.io/job-key"
    others = {"key": key, "operator": "NotIn", "values": ["c48f64be"]}
    return {"matchExpressions": [{"key": key, "operator": operator}, others]}


def windows(**options: str) -> dict[str, Any]:
    """Return a `spec` with options for Windows."""
    return {**WINDOWS, "securityContext": {"windowsOptions": options}}


CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a zone": (away(topologyKey=ZONE), {"scheduling/anti-affinity/topology.kubernetes.io%2Fzone"}),
    "all namespaces": (
        away(topologyKey=NODE, namespaceSelector={}),
        {"scheduling/anti-affinity-elsewhere/kubernetes.io%2Fhostname"},
    ),
    "another namespace": (
        away(topologyKey=ZONE, namespaces=["train", "other"]),
        {"scheduling/anti-affinity-elsewhere/topology.kubernetes.io%2Fzone"},
    ),
    "own namespace on a node": (away(topologyKey=NODE), set()),
    "own namespace by name": (away(topologyKey=NODE, namespaces=["train"]), set()),
    "other gangs": (
        away(topologyKey=ZONE, namespaceSelector={}, labelSelector=gangs_but("Exists")),
        set(),
    ),
    "all but one gang": (
        away(topologyKey=ZONE, namespaceSelector={}, labelSelector=gangs_but("DoesNotExist")),
        {"scheduling/anti-affinity-elsewhere/topology.kubernetes.io%2Fzone"},
    ),
    "level": ({"securityContext": LEVEL}, {"selinux/level/s0-s0:c0.c1023"}),
    "account of a domain": (
        windows(gmsaCredentialSpecName="reader"),
        {"identity/gmsa/reader"},
    ),
    "account of a domain inline": (
        windows(gmsaCredentialSpec='{"CmsPlugins":["ActiveDirectory"]}'),
        {"identity/gmsa-inline"},
    ),
    "administrator": (
        windows(runAsUserName="containeradministrator"),
        {"run-as/container-administrator"},
    ),
    "user": (windows(runAsUserName="ContainerUser"), set()),
}


async def judged(
    spec: dict[str, Any], tmp_path: Path, engine: EmbeddedEngine, *privileges: str
) -> Decision:
    """Judge a Pod of ALICE's by a profile of these privileges."""
    folder = Folder(tmp_path).profile("bare", 5, *privileges, catalogue=4)
    folder.grant("User:alice@example.com", "bare")
    return await decide(folder.cluster(), engine, request(pod(**spec)))


@pytest.mark.parametrize("case", CASES)
async def test_a_pod_needs_privileges_for_what_it_says_of_others(
    case: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Beside the same Pod without it; a profile that covers them admits it."""
    spec, wanted = CASES[case]
    kind = {key: value for key, value in spec.items() if key == "os"}
    context = {**CONTEXT, **spec.get("securityContext", {})}
    before = await judged({**kind, "securityContext": CONTEXT}, tmp_path / "bare", engine)
    spec = {**spec, "securityContext": context}
    refused = await judged(spec, tmp_path / "bare", engine)
    base = {finding.privilege or "" for finding in before.findings}
    needed = {finding.privilege or "" for finding in refused.findings}
    assert needed - base == wanted
    assert refused.verdict is (Verdict.DENY if needed else Verdict.ALLOW)
    allowed = await judged(spec, tmp_path / "wide", engine, *base, *needed)
    assert allowed.verdict is Verdict.ALLOW


@pytest.mark.parametrize("case", CASES)
async def test_pod_security_restricted_looks_at_none_of_it(
    case: str, folder: Folder, engine: EmbeddedEngine
) -> None:
    """So pss-restricted covers it all."""
    spec = CASES[case][0]
    made = pod(**{**spec, "securityContext": {**CONTEXT, **spec.get("securityContext", {})}})
    assert (await decide(folder.cluster(), engine, request(made))).verdict is Verdict.ALLOW
