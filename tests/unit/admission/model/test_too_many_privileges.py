"""A Pod made to cost: so many privileges that comparing them with profiles takes long."""

import time

import pytest

from admission.model.candidates import MAX_PRIVILEGES
from core.decision.decision import Verdict
from core.decision.request import Kind
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.rbac import RBAC
from tests.unit.admission.world import Folder, decide, pod, request


def ports(count: int) -> list[dict[str, int]]:
    """Return so many ports of the node."""
    return [{"containerPort": n, "hostPort": n} for n in range(1, count + 1)]


@pytest.mark.parametrize("count", [MAX_PRIVILEGES, MAX_PRIVILEGES + 1, 4_000])
async def test_a_pod_of_many_privileges_is_judged_in_time(
    engine: EmbeddedEngine, folder: Folder, count: int
) -> None:
    """Beside 300 profiles of 20 wildcards each: refused, quickly, and as a denial."""
    for number in range(300):
        patterns = [f"host/*/*/{number}-{n}" for n in range(20)]
        folder.profile(f"wide-{number:03}", 100, *patterns)
    made = pod()
    made["spec"]["containers"][0]["ports"] = ports(count - 1)  # And one for the image.
    cluster = folder.cluster()
    start = time.process_time()
    decision = await decide(cluster, engine, request(made))
    assert time.process_time() - start < 3
    assert decision.verdict is Verdict.DENY
    too_many = [finding for finding in decision.findings if finding.rule == "profiles/many"]
    assert bool(too_many) is (count > MAX_PRIVILEGES)


RULE = {
    "verbs": ["impersonate"],
    "apiGroups": [""],
    "resources": ["groups"],
    "resourceNames": list(map(str, range(300))),
}
ROLE = {"metadata": {"name": "r"}, "rules": [RULE]}


@pytest.mark.parametrize(
    ("kind", "path", "words"),
    [
        (
            Kind("ClusterRole", "v1", RBAC),
            "rules",
            "Split the ClusterRole, or take away rules",
        ),
        (Kind("Pod", "v1"), "spec", "Split the Pod, or take away what needs them"),
        (Kind("Deployment", "v1", "apps"), "spec", "Split the Deployment, or take away what"),
    ],
)
async def test_each_kind_is_told_how_it_becomes_less(
    engine: EmbeddedEngine, folder: Folder, kind: Kind, path: str, words: str
) -> None:
    """In its own words and at its own field: a role has no Pod to split."""
    big = pod()
    big["spec"]["containers"][0]["ports"] = ports(300)
    made = {"Deployment": {"spec": {"template": big}}, "ClusterRole": ROLE}.get(kind.kind, big)
    asked = request(made, kind=kind, namespace="" if made is ROLE else "train")
    decision = await decide(folder.cluster(), engine, asked)
    (finding,) = (each for each in decision.findings if each.rule == "profiles/many")
    assert finding.path == path
    assert finding.remedy.startswith(words)
