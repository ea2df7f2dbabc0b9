"""A namespace on its way from audit to enforce: what status names is what enforcing refuses."""

import asyncio
import copy
import random
import time
from typing import Final

from cli.rollout.verdicts import Standing, Verdict
from tests.api.admission.objects import until_known
from tests.api.record.installation import Installation
from tests.api.rollout.conftest import PEOPLE, Rollout, refused
from tests.harness.programs.client import Client, Json
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED

FEATURES: Final[list[Json]] = [
    {"hostNetwork": True},
    {"hostPID": True},
    {"volumes": [{"name": "log", "hostPath": {"path": "/var/log"}}]},
    {"securityContext": {"runAsNonRoot": False, "runAsUser": 0}},
    {"tolerations": [{"operator": "Exists"}]},
    {},
    {},
]
COUNT: Final = 24
SHIPPED_S: Final = 60.0


def workloads(namespace: str, seed: int) -> list[tuple[str, Json]]:
    """Return Pods and Deployments of all sorts, each with who submits it."""
    chance = random.Random(seed)  # noqa: S311
    found = []
    for number in range(COUNT):
        made = RESTRICTED.pod()
        for feature in chance.sample(FEATURES, chance.choice([1, 1, 2])):
            made["spec"] |= copy.deepcopy(feature)
        made["metadata"] = {"name": f"w{number}", "namespace": namespace}
        if chance.random() < 0.4:
            made = deployment(made)
        found.append((chance.choice(PEOPLE), made))
    return found


def deployment(pod: Json) -> Json:
    """Return a Deployment of such Pods."""
    labels = {"app": pod["metadata"]["name"]}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": pod["metadata"],
        "spec": spec,
    }


def name_of(made: Json) -> str:
    """Name a workload as status does."""
    return f"{made['kind']}/{made['metadata']['name']}"


async def until(rollout: Rollout, namespace: str, verdict: Verdict) -> Standing:
    """Wait until status gives this verdict."""
    deadline = time.monotonic() + SHIPPED_S
    while (standing := await rollout.of(namespace)).verdict is not verdict:
        assert time.monotonic() < deadline, standing
        await asyncio.sleep(0.5)
    return standing


async def test_what_status_names_is_what_enforcing_refuses(
    installation: Installation, admin: Client, rollout: Rollout
) -> None:
    """Of workloads of all sorts and of two people: the same set, neither more nor less."""
    namespace = "staged"
    await admin.create_namespace(namespace)
    await until_known(admin, namespace)
    asked = workloads(namespace, seed=11)
    await create_all(admin, asked)
    await rollout.sweep_anew(admin)
    standing = await rollout.of(namespace)
    foretold = {row.workload for row in standing.workloads}
    assert standing.verdict is Verdict.WOULD_REFUSE
    assert (standing.mode, standing.decided_by) == ("audit", "default")
    assert 0 < len(foretold) < COUNT
    assert all(row.findings and row.decision for row in standing.workloads)
    assert {who for row in standing.workloads for who in row.requesters} <= {
        "user:2bd806c97f0e00af",
        "user:81b637d8fcd2c6da",
    }
    code, answer, _ = rollout.run("set", namespace, "--mode", "enforce", "--since", "30m")
    assert (code, answer["namespaces"][0]["did"]) == (1, "held")
    code, answer, _ = rollout.run("set", namespace, "--mode", "enforce", "--force")
    assert (code, answer["namespaces"][0]["did"]) == (0, "changed")
    for _, made in asked:
        await admin.delete(made)
    await until_enforced(admin, namespace)
    found = {name_of(made) for who, made in asked if await refused(admin.as_user(who), made)}
    assert found == foretold


async def create_all(admin: Client, asked: list[tuple[str, Json]]) -> None:
    """Create them all, each as whoever submits it: nothing is refused."""
    for who, made in asked:
        assert not await refused(admin.as_user(who), made)


async def until_enforced(admin: Client, namespace: str) -> None:
    """Wait until the gate knows that the namespace enforces; the back-stop may know it before."""
    bad = RESTRICTED.pod()
    bad["metadata"] = {"name": "probe", "namespace": namespace}
    bad["spec"]["securityContext"] = {"runAsNonRoot": False, "runAsUser": 0}  # The gate's alone.
    deadline = time.monotonic() + SHIPPED_S
    while not await refused(admin.as_user("alice"), bad):
        assert time.monotonic() < deadline, "the gate does not enforce"
        await admin.delete(bad)
        await asyncio.sleep(0.2)


async def test_what_is_mended_makes_it_ready(
    installation: Installation, admin: Client, rollout: Rollout
) -> None:
    """Warned with the day, mended, submitted again: then it is ready, and set enforces."""
    namespace = "mended"
    await admin.create_namespace(namespace)
    await until_known(admin, namespace)
    code, _, told = rollout.run("set", namespace, "--mode", "warn", "--from", "2031-12-01")
    assert code == 0, told
    space = await admin.get("v1", "Namespace", namespace)
    assert space["metadata"]["labels"]["sallyport.dev/mode"] == "warn"
    assert space["metadata"]["annotations"]["sallyport.dev/enforce-from"] == "2031-12-01"
    bad = RESTRICTED.pod()
    bad["metadata"] = {"name": "web", "namespace": namespace}
    good = deployment(copy.deepcopy(bad))
    bad["spec"]["hostNetwork"] = True
    await admin.as_user("alice").create(deployment(bad))
    await until(rollout, namespace, Verdict.WOULD_REFUSE)
    await rollout.sweep_anew(admin)
    standing = await rollout.of(namespace)
    assert [row.workload for row in standing.workloads] == ["Deployment/web"]
    assert standing.workloads[0].changes
    assert standing.enforce_from == "2031-12-01"
    await admin.delete(good)
    await admin.as_user("alice").create(good)
    await until(rollout, namespace, Verdict.READY)
    _, plan, _ = rollout.run("plan", namespace, "--since", "30m")
    assert plan["steps"][0]["command"] == "sallyport rollout set mended --mode enforce"
    code, answer, _ = rollout.run("set", namespace, "--mode", "enforce", "--since", "30m")
    assert (code, answer["namespaces"][0]["did"]) == (0, "changed")
    space = await admin.get("v1", "Namespace", namespace)
    assert "sallyport.dev/enforce-from" not in space["metadata"].get("annotations", {})
    code, _, told = rollout.run("set", namespace, "--mode", "audit")
    assert code == 64
    assert "--lower" in told


async def test_a_young_ledger_is_no_readiness(
    installation: Installation, admin: Client, rollout: Rollout
) -> None:
    """Of a week of which it knows minutes, nobody says that a namespace is ready."""
    await admin.create_namespace("young")
    code, found, _ = rollout.run("status", "young")
    assert code == 2
    (standing,) = found["namespaces"]
    assert standing["verdict"] == "not-enough-evidence"
    assert any("the ledger begins at" in problem for problem in standing["evidence"])
    code, answer, _ = rollout.run("set", "young", "--mode", "enforce")
    assert (code, answer["namespaces"][0]["did"]) == (2, "held")
    assert (await rollout.of("kube-system")).verdict is Verdict.LEFT_OUT


async def test_without_webhooks_nothing_is_ready(admin: Client, rollout: Rollout) -> None:
    """Enforcing would mean nothing: nobody is asked."""
    await admin.create_namespace("unasked")
    kind = "ValidatingWebhookConfiguration"
    hooks = await admin.get("admissionregistration.k8s.io/v1", kind, "sallyport")
    await admin.delete(hooks)
    try:
        standing = await rollout.of("unasked")
    finally:
        for field in ("resourceVersion", "uid", "managedFields", "creationTimestamp", "generation"):
            hooks["metadata"].pop(field, None)
        await admin.create(hooks)
    assert standing.verdict is Verdict.UNKNOWN
    assert any("the webhooks are not registered" in problem for problem in standing.evidence)


async def test_the_day_is_guarded_as_the_mode_is(installation: Installation, admin: Client) -> None:
    """Whoever may edit namespaces, and not exempt them, announces nothing."""
    edits = rbac.rule([""], "namespaces", "get patch")
    await admin.apply(rbac.grant("edits-namespaces", edits, rbac.user("editor")))
    await admin.create_namespace("dated")
    await admin.as_user("editor").wait_until_can("patch", {"resource": "namespaces"})
    body = {"metadata": {"annotations": {"sallyport.dev/enforce-from": "2031-01-01"}}}
    kind = "application/merge-patch+json"
    path = "/api/v1/namespaces/dated"
    status, _ = await admin.as_user("editor").request("PATCH", path, body, content_type=kind)
    assert status == 403
    status, _ = await admin.request("PATCH", path, body, content_type=kind)
    assert status == 200
    gone = {"metadata": {"annotations": {"sallyport.dev/enforce-from": None}}}
    status, said = await admin.as_user("editor").request("PATCH", path, gone, content_type=kind)
    assert (status, "exempt" in said["message"]) == (403, True)
