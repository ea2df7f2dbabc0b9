"""What must run in the sandbox gets its RuntimeClass; kube-apiserver merges what the class says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

import pytest

from tests.api.sandbox.conftest import (
    BOXED,
    LABEL,
    OPEN,
    OVERHEAD,
    POOL,
    STRICT,
    TOLERATION,
    ask,
    deployment,
    pod_of,
    pods_of,
    template,
)
from tests.harness.fakes.sidecar_webhook import LABEL as SIDECAR
from tests.harness.fakes.sidecar_webhook import injecting, registration
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.programs.guarded_apiserver import Installation

_SIDECAR: Final[Json] = {"name": "plain", "image": "registry.example/proxy:1"}
_REMOVES: Final[Json] = {"op": "remove", "path": "/spec/runtimeClassName"}
_EMPTIES: Final[Json] = {"op": "add", "path": "/spec/runtimeClassName", "value": ""}
_OTHER: Final[Json] = {"op": "add", "path": "/spec/runtimeClassName", "value": "also-runsc"}
_BREAKS: Final[Json] = {"op": "add", "path": "/spec/hostNetwork", "value": True}


def assert_sandboxed(spec: Json) -> None:
    """Fail unless a Pod has the class, and what its class demands."""
    assert spec["runtimeClassName"] == "gvisor"
    assert spec["overhead"] == OVERHEAD
    assert POOL.items() <= spec["nodeSelector"].items()
    assert TOLERATION in spec["tolerations"]


async def test_a_pod_gets_the_class_and_what_the_class_says(admin: Client, eve: Client) -> None:
    """Overhead, node selector and tolerations are RuntimeClass admission's work."""
    made = await eve.create(pod_of("first", nodeSelector={"disk": "fast"}))
    await admin.delete(made)
    assert_sandboxed(made["spec"])
    assert made["spec"]["nodeSelector"]["disk"] == "fast"


async def test_null_is_absent(eve: Client) -> None:
    """A field that is written and says nothing is filled in."""
    assert_sandboxed((await eve.dry_run(pod_of("null", runtimeClassName=None))).body["spec"])


async def test_elsewhere_nothing_changes(eve: Client) -> None:
    """No label, no profile, no wish: no class."""
    assert "runtimeClassName" not in (await eve.dry_run(pod_of("x", OPEN))).body["spec"]


@pytest.mark.parametrize("word", ["required", "never", "", "false"])
async def test_an_author_asks_for_it_with_any_word(eve: Client, word: str) -> None:
    """The label's presence asks: no word of it asks out."""
    asked = pod_of("asked", OPEN)
    asked["metadata"]["labels"][LABEL] = word
    assert_sandboxed((await eve.dry_run(asked)).body["spec"])


async def test_a_profile_demands_it(eve: Client) -> None:
    """What is admitted under a profile that requires the sandbox is in it."""
    named = pod_of("strict", OPEN)
    named["metadata"]["annotations"] = {"sallyport.dev/profile": STRICT}
    assert_sandboxed((await eve.dry_run(named)).body["spec"])


async def test_twice_is_once(eve: Client) -> None:
    """The Pod as it came out, submitted again, comes out the same."""
    once = (await eve.dry_run(pod_of("twice"))).body
    again = pod_of("twice")
    again["metadata"]["annotations"] = once["metadata"]["annotations"]
    again["spec"] = once["spec"]
    assert (await eve.dry_run(again)).body["spec"] == once["spec"]


async def test_its_author_sees_it_in_the_template(admin: Client, eve: Client) -> None:
    """A Deployment's template has it at its first generation, and one ReplicaSet follows."""
    made = await eve.create(deployment("seen"))
    try:
        assert made["metadata"]["generation"] == 1
        assert made["spec"]["template"]["spec"]["runtimeClassName"] == "gvisor"
        assert "overhead" not in made["spec"]["template"]["spec"]
        (running,) = await pods_of(admin, "seen")
        assert_sandboxed(running["spec"])
        assert await _replica_sets(admin, "seen") == 1
    finally:
        await admin.delete(made)


async def test_what_is_older_is_not_rolled_out(admin: Client, eve: Client) -> None:
    """A template from before stays as it is, at any update but its author's; its Pods get it."""
    await _until_boxed(eve, boxed=False)
    made = await eve.create(deployment("older", OPEN))
    place: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPEN}}
    try:
        await pods_of(admin, "older", OPEN)
        await admin.patch(place, {"metadata": {"labels": {LABEL: "required"}}})
        await _until_boxed(eve)
        scaled = await eve.patch(made, {"spec": {"replicas": 2}})
        assert "runtimeClassName" not in scaled["spec"]["template"]["spec"]
        specs = await _specs(admin, "older", 2)
        assert sorted(each.get("runtimeClassName", "") for each in specs) == ["", "gvisor"]
        assert await _replica_sets(admin, "older", OPEN) == 1
        env = [{"name": "A", "value": "B"}]
        container = made["spec"]["template"]["spec"]["containers"][0] | {"env": env}
        changed = {"spec": {"template": {"spec": {"containers": [container]}}}}
        written = await eve.patch(made, changed)
        assert written["spec"]["template"]["spec"]["runtimeClassName"] == "gvisor"
        await asyncio.sleep(2)
        assert await _replica_sets(admin, "older", OPEN) == 2
    finally:
        await admin.patch(place, {"metadata": {"labels": {LABEL: None}}})
        await admin.delete(made)


async def test_a_job_that_waits_can_be_let_go(admin: Client, eve: Client) -> None:
    """As a queue does: nodes chosen, unsuspended; its Pods have the class, its template has not."""
    held = template("queued")
    held["spec"]["restartPolicy"] = "Never"
    job: Json = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "queued", "namespace": OPEN},
        "spec": {"suspend": True, "template": held},
    }
    await _until_boxed(eve, boxed=False)
    made = await eve.create(job)
    place: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPEN}}
    try:
        await admin.patch(place, {"metadata": {"labels": {LABEL: "required"}}})
        await _until_boxed(eve)
        chosen = {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}
        placed = await eve.patch(made, {"spec": chosen})
        assert "runtimeClassName" not in placed["spec"]["template"]["spec"]
        await eve.patch(made, {"spec": {"suspend": False}})
        (running,) = await pods_of(admin, "queued", OPEN)
        assert_sandboxed(running["spec"])
    finally:
        await admin.patch(place, {"metadata": {"labels": {LABEL: None}}})
        await admin.delete(made)


async def _until_boxed(eve: Client, *, boxed: bool = True) -> None:
    for _ in range(600):
        spec = (await eve.dry_run(pod_of("x", OPEN))).body.get("spec", {})
        if ("runtimeClassName" in spec) is boxed:
            return
        await asyncio.sleep(0.1)
    pytest.fail("the gate does not see the namespace's label")


async def _specs(admin: Client, name: str, count: int) -> list[Json]:
    for _ in range(600):
        found = await pods_of(admin, name, OPEN)
        if len(found) == count:
            return [each["spec"] for each in found]
        await asyncio.sleep(0.2)
    pytest.fail(f"no {count} Pods of {name}")


async def _replica_sets(admin: Client, name: str, namespace: str = BOXED) -> int:
    path = f"/apis/apps/v1/namespaces/{namespace}/replicasets?labelSelector=app%3D{name}"
    return len((await admin.request("GET", path))[1]["items"])


WORKLOADS: Final[dict[str, tuple[str, Json, tuple[str, ...]]]] = {
    "Job": ("batch/v1", {}, ("template",)),
    "StatefulSet": ("apps/v1", {"serviceName": "x"}, ("template",)),
    "DaemonSet": ("apps/v1", {}, ("template",)),
    "ReplicaSet": ("apps/v1", {}, ("template",)),
    "CronJob": ("batch/v1", {"schedule": "0 0 * * *"}, ("jobTemplate", "spec", "template")),
}


@pytest.mark.parametrize("kind", WORKLOADS)
async def test_each_kinds_template(eve: Client, kind: str) -> None:
    """Wherever the template lies."""
    version, spec, place = WORKLOADS[kind]
    held: Json = {"template": template("w")}
    if kind in {"Job", "CronJob"}:
        held["template"]["spec"]["restartPolicy"] = "Never"
    else:
        held["selector"] = {"matchLabels": {"app": "w"}}
    for each in reversed(place[:-1]):
        held = {each: held}
    item: Json = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w", "namespace": BOXED},
        "spec": spec | held,
    }
    answer = await eve.dry_run(item)
    assert answer.outcome is Outcome.ALLOWED, answer.message
    found = answer.body["spec"]
    for each in place:
        found = found[each]
    assert found["spec"]["runtimeClassName"] == "gvisor"


@asynccontextmanager
async def beside(
    installation: Installation, admin: Client, name: str, *patch: Json
) -> AsyncIterator[None]:
    """Have another webhook asked that adds a sidecar, or does `patch` to Pods."""
    authority = installation.apiserver.authority
    with injecting(authority, _SIDECAR, rewrites={"rewritten": list(patch)}) as url:
        item = registration(name, url, authority.pem)
        await admin.apply([item])
        try:
            await _until(admin, 2)
            yield
        finally:
            await admin.delete(item)
            await _until(admin, 1)


def labelled(name: str, sidecar: str) -> Json:
    """Return a Pod that the other webhook changes."""
    made = pod_of(name)
    made["metadata"]["labels"][SIDECAR] = sidecar
    return made


async def _until(admin: Client, containers: int) -> None:
    for _ in range(600):
        answer = await admin.dry_run(labelled("probe", "plain"))
        if len(answer.body.get("spec", {}).get("containers", ())) == containers:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(answer.message)


@pytest.mark.parametrize("name", ["aaa-sidecars", "zzz-sidecars"])
async def test_beside_a_webhook_that_adds_a_sidecar(
    installation: Installation, admin: Client, eve: Client, name: str
) -> None:
    """Asked before the gate's or after it: the same Pod, in the sandbox, with one sidecar."""
    async with beside(installation, admin, name):
        spec = (await eve.dry_run(labelled("both", "plain"))).body["spec"]
    assert_sandboxed(spec)
    assert [each["name"] for each in spec["containers"]] == ["main", "plain"]


@pytest.mark.parametrize("patch", [_REMOVES, _EMPTIES, _OTHER, _BREAKS])
async def test_a_webhook_that_undoes_it(
    installation: Installation, admin: Client, eve: Client, patch: Any
) -> None:
    """What another webhook takes out, changes, empties or breaks never runs outside."""
    async with beside(installation, admin, "zzz-sidecars", patch):
        status, answer = await ask(eve, labelled("undone", "rewritten"))
    if status == HTTPStatus.CREATED:
        assert patch is _REMOVES
        assert_sandboxed(answer["spec"])
