"""Who Pods may be on file systems that others mount, in a real kube-apiserver."""

import asyncio
import time
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from policies import SHIPPED_PROFILES
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import grant, group, rule, use_of, user

PLAIN: Final = "sharing"
RANGED: Final = "sharing-ranged"
ANN: Final = "ann-of-volumes"
FIRST: Final = 1000680000
GROUP: Final = 2000
SPACE: Final[Json] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RANGED}}
SETTLES_S: Final = 60.0
SHIPPED: Final = ("csi-drivers", "registries", "entering", "isolated", "restricted", "gpu-training")


def shared(name: str, namespace: str, claim: str) -> Json:
    """Return an NFS volume that is kept for a claim."""
    spec: Json = {
        "capacity": {"storage": "1Ti"},
        "accessModes": ["ReadWriteMany"],
        "nfs": {"server": "192.0.2.1", "path": "/research"},
        "claimRef": {"namespace": namespace, "name": claim},
        "storageClassName": "",
    }
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def pod(namespace: str, name: str = "llama", mounts: bool = True, **context: Any) -> Json:  # noqa: FBT001, FBT002
    """Return a training Pod; with `mounts`, of the claim of NFS."""
    container: Json = {
        "name": "main",
        "image": f"registry.example/train@sha256:{64 * 'a'}",
        "resources": {"limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    spec: Json = {
        "automountServiceAccountToken": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, **context},
        "containers": [container],
    }
    if mounts:
        claim = {"persistentVolumeClaim": {"claimName": "data"}}
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", **claim}]
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def written() -> list[Json]:
    """Return the profiles as they are shipped."""
    return [yaml.safe_load(Path(SHIPPED_PROFILES, f"{each}.yaml").read_text()) for each in SHIPPED]


@pytest.fixture
async def ann(admin: Client) -> Client:
    """Who trains with `gpu-training` in two namespaces, one of which has IDs of its own."""
    await admin.apply(written())
    works = rule(["", "apps"], "pods pods/ephemeralcontainers deployments", "*")
    for namespace in (PLAIN, RANGED):
        await admin.create_namespace(namespace)
        await admin.create_service_account("default", namespace)
        people = (user(ANN), group(f"system:serviceaccounts:{namespace}"))
        await admin.apply(grant("use", use_of("gpu-training"), *people, namespace=namespace))
        await admin.apply(grant("works", works, user(ANN), namespace=namespace))
        await admin.apply([shared(f"{namespace}-nfs", namespace, "data")])
        # Everybody may use pss-restricted, which covers what Pod Security does not look at.
        ceiling = {"metadata": {"annotations": {"sallyport.dev/ceiling": "gpu-training"}}}
        await admin.patch({**SPACE, "metadata": {"name": namespace}}, ceiling)
    marks = {
        "sallyport.dev/uid-range": f"{FIRST}/10000",
        "sallyport.dev/supplemental-groups": f"{GROUP}-2010,3000/5",
    }
    await admin.patch(SPACE, {"metadata": {"annotations": marks}})
    person = admin.as_user(ANN)
    await person.wait_until_can("create", {"resource": "pods", "namespace": RANGED})
    await _until(person, pod(PLAIN, mounts=False, runAsUser=0), Outcome.ALLOWED)
    await _until(person, pod(PLAIN, runAsUser=0), Outcome.DENIED)
    await _until(person, pod(RANGED), Outcome.ALLOWED)
    return person


async def _until(person: Client, made: Json, outcome: Outcome) -> None:
    """Wait until the gate's watches have all that matters."""
    deadline, last = time.monotonic() + SETTLES_S, ""
    while time.monotonic() < deadline:
        answer = await person.dry_run(made)
        if answer.outcome is outcome:
            return
        last = answer.message
        await asyncio.sleep(0.2)
    pytest.fail(f"never {outcome}: {last}")


async def refused(person: Client, made: Json, *words: str) -> None:
    """See a Pod refused by the gate in these words."""
    answer = await person.dry_run(made)
    assert answer.outcome is Outcome.DENIED, answer
    for word in words:
        assert word in answer.message, answer.message


async def test_root_and_groups_of_the_system_are_refused_on_a_shared_file_system(
    ann: Client,
) -> None:
    """gpu-training covers root, and not there; nor a low group; others are admitted."""
    await refused(ann, pod(PLAIN, runAsUser=0), "many workloads, where its user can be 0")
    await refused(ann, pod(PLAIN), "many workloads, where its user can be any")
    roots: tuple[tuple[Json, str], ...] = (
        ({"supplementalGroups": [2000, 0]}, "spec.securityContext.supplementalGroups[1]"),
        ({"fsGroup": 0}, "spec.securityContext.fsGroup"),
        ({"runAsGroup": 0}, "spec.securityContext.runAsGroup"),
    )
    for context, path in roots:
        made = pod(PLAIN, runAsUser=1000, **context)
        await refused(ann, made, "many workloads, where its group can be 0", path)
    fine = pod(PLAIN, runAsUser=1000, runAsGroup=1000, fsGroup=2000, supplementalGroups=[3000])
    assert (await ann.dry_run(fine)).outcome is Outcome.ALLOWED
    elsewhere = pod(PLAIN, mounts=False, runAsUser=0, fsGroup=0, supplementalGroups=[0])
    assert (await ann.dry_run(elsewhere)).outcome is Outcome.ALLOWED


async def test_every_sort_of_container_counts(admin: Client, ann: Client) -> None:
    """An init container at once, an ephemeral one when it comes; one that mounts nothing not."""
    made = pod(PLAIN, "sorts", runAsUser=1000)
    (main,) = made["spec"]["containers"]
    root = {**main, "name": "first", "securityContext": {**main["securityContext"], "runAsUser": 0}}
    alone = {key: value for key, value in root.items() if key != "volumeMounts"}
    await refused(
        ann,
        {**made, "spec": {**made["spec"], "initContainers": [root]}},
        "many workloads, where its user can be 0",
    )
    made["spec"]["initContainers"] = [alone]
    there = await ann.create(made)
    try:
        path = f"/api/v1/namespaces/{PLAIN}/pods/sorts/ephemeralcontainers"
        debug = {key: value for key, value in root.items() if key != "resources"}
        body = {"spec": {"ephemeralContainers": [debug | {"name": "debug"}]}}
        strategic = "application/strategic-merge-patch+json"
        status, answer = await ann.request("PATCH", path, body, content_type=strategic)
        assert status == 403, answer
        assert "many workloads, where its user can be 0" in answer["message"]
    finally:
        await admin.delete(there)


async def test_the_namespaces_ids_are_filled_in(admin: Client, ann: Client) -> None:
    """Of a Pod that a Deployment makes; its template stays as its author wrote it."""
    made = pod(RANGED, "deployed")
    template = {"metadata": {"labels": {"app": "deployed"}}, "spec": made["spec"]}
    deployment: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "deployed", "namespace": RANGED},
        "spec": {"selector": {"matchLabels": {"app": "deployed"}}, "template": template},
    }
    kept = await ann.create(deployment)
    try:
        found = await _pod_of(admin, "deployed")
        context = found["spec"]["securityContext"]
        assert context == {
            "seccompProfile": {"type": "RuntimeDefault"},
            "runAsUser": FIRST,
            "runAsGroup": GROUP,
            "supplementalGroups": [GROUP],
            "supplementalGroupsPolicy": "Strict",
        }
        now = await admin.get("apps/v1", "Deployment", "deployed", RANGED)
        assert "runAsUser" not in now["spec"]["template"]["spec"]["securityContext"]
    finally:
        await admin.delete(kept)


async def _pod_of(admin: Client, name: str) -> Json:
    path = f"/api/v1/namespaces/{RANGED}/pods?labelSelector=app%3D{name}"
    deadline = time.monotonic() + SETTLES_S
    while time.monotonic() < deadline:
        _, found = await admin.request("GET", path)
        if found["items"]:
            return dict(found["items"][0])
        await asyncio.sleep(0.2)
    pytest.fail(f"no Pod of {name}")


async def test_ids_outside_of_the_namespaces_are_refused(ann: Client) -> None:
    """Of another namespace, of the system, of the image; the last ID of each range is fine."""
    outside: tuple[tuple[Json, str], ...] = (
        ({"runAsUser": FIRST + 10000}, f"many workloads, where its user can be {FIRST + 10000}"),
        ({"runAsGroup": 2011}, "many workloads, where its group can be 2011"),
        ({"fsGroup": FIRST}, f"many workloads, where its group can be {FIRST}"),
        ({"supplementalGroups": [3005]}, "many workloads, where its group can be 3005"),
        ({"supplementalGroupsPolicy": "Merge"}, "many workloads, where its group can be any"),
    )
    for context, said in outside:
        await refused(ann, pod(RANGED, **context), said)
    last: Json = {"runAsUser": FIRST + 9999, "runAsGroup": 2010, "supplementalGroups": [3004]}
    assert (await ann.dry_run(pod(RANGED, **last))).outcome is Outcome.ALLOWED


async def test_ids_that_cannot_be_read_are_refused_when_they_are_written(
    admin: Client, ann: Client
) -> None:
    """Also to an administrator; the namespace keeps those that it has."""
    marks = {"sallyport.dev/uid-range": "0/5"}
    with pytest.raises(ApiStatusError) as error:
        await admin.patch(SPACE, {"metadata": {"annotations": marks}})
    assert "metadata.annotations[sallyport.dev/uid-range]" in error.value.message
    assert "FIRST/COUNT" in error.value.message
    assert (await ann.dry_run(pod(RANGED))).outcome is Outcome.ALLOWED
