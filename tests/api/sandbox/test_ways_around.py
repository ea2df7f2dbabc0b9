"""Ways around the sandbox, tried by somebody whom only the gate stops: none leads out of it."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

import pytest

from tests.api.sandbox.conftest import (
    BOXED,
    CLASSES,
    LABEL,
    OPEN,
    RISKY,
    WIDE,
    ask,
    deployment,
    pod_of,
    pods_of,
    runtime_class,
    template,
)
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome

_PROFILE: Final = "sallyport.dev/profile"


def annotated(**annotations: str) -> Json:
    """Return a Pod with annotations."""
    made = pod_of("tried")
    made["metadata"]["annotations"] = annotations
    return made


def owned(kind: str, name: str) -> Json:
    """Return a Pod that names an owner that never made it."""
    made = pod_of("tried")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "none"}
    made["metadata"]["ownerReferences"] = [reference]
    return made


def labelled(value: str) -> Json:
    """Return a Pod that says otherwise by the label."""
    made = pod_of("tried")
    made["metadata"]["labels"][LABEL] = value
    return made


def named(runtime: str | None) -> Json:
    """Return a Pod with a RuntimeClass."""
    return pod_of("tried", runtimeClassName=runtime)


def container(**more: Any) -> Json:
    """Return a Pod whose container says more."""
    made = pod_of("tried")
    made["spec"]["containers"][0] |= more
    return made


_CLASS: Final = "must run with gvisor"
_FEATURE: Final = "cannot run under the RuntimeClass gvisor"
_STEERS: Final = "steers the container runtime"

REFUSED: Final[dict[str, tuple[Json, str]]] = {
    "the empty class": (named(""), "resource name may not be empty"),
    "another class with the same handler": (named("also-runsc"), _CLASS),
    "a class of the ordinary runtime": (named("plain"), _CLASS),
    "a class that there is not": (named("nowhere"), 'RuntimeClass "nowhere" not found'),
    "a class in other letters": (named("GVISOR"), 'RuntimeClass "GVISOR" not found'),
    "a class with a space": (named("gvisor "), 'RuntimeClass "gvisor " not found'),
    "overhead of one's own": (
        pod_of("tried", overhead={"cpu": "1m"}),
        "Overhead doesn't match RuntimeClass's",
    ),
    "a selector for other nodes": (
        pod_of("tried", nodeSelector={"example.com/pool": "other"}),
        "conflict: runtimeClass.scheduling.nodeSelector",
    ),
    "the node's network": (pod_of("tried", hostNetwork=True), _FEATURE),
    "the node's processes": (pod_of("tried", hostPID=True), _FEATURE),
    "the node's memory": (pod_of("tried", hostIPC=True), _FEATURE),
    "a privileged container": (container(securityContext={"privileged": True}), _FEATURE),
    "a flag of the runtime": (annotated(**{"dev.gvisor.flag.host-uds": "all"}), _STEERS),
    "a setting of the runtime": (annotated(**{"dev.gvisor.internal.debug": "true"}), _STEERS),
    "a root file system of one's own": (
        annotated(**{"dev.gvisor.spec.rootfs.source": "/"}),
        _STEERS,
    ),
    "the annotation for the handler": (
        annotated(**{"io.kubernetes.cri.runtime-handler": "runc"}),
        _STEERS,
    ),
    "the older annotation for trust": (
        annotated(**{"io.kubernetes.cri.untrusted-workload": "false"}),
        _STEERS,
    ),
    "a template with another class": (deployment("tried", runtimeClassName="also-runsc"), _CLASS),
    "a template with the empty class": (
        deployment("tried", runtimeClassName=""),
        'spec.template.spec.runtimeClassName: Invalid value: ""',
    ),
    "a template that cannot run there": (deployment("tried", hostNetwork=True), _FEATURE),
}
"""What is refused in a namespace that requires the sandbox, and by which words."""

INSIDE: Final[dict[str, Json]] = {
    "a label that says never": labelled("never"),
    "a label that says nothing": labelled(""),
    "a profile without a sandbox": annotated(**{_PROFILE: WIDE}),
    "a profile that goes by risk": annotated(**{_PROFILE: RISKY}),
    "an owner that did not make it": owned("ReplicaSet", "none"),
    "a node of one's choice": pod_of("tried", nodeName="node-1"),
    "a name that is made up later": {
        **pod_of("tried"),
        "metadata": {"generateName": "tried-", "namespace": BOXED},
    },
    "another scheduler": pod_of("tried", schedulerName="mine"),
}
"""What is put into the sandbox nevertheless."""


@pytest.mark.parametrize("way", REFUSED)
async def test_way_around_the_sandbox_is_refused(eve: Client, way: str) -> None:
    """By the gate, or by kube-apiserver itself; never admitted, and for no other reason."""
    item, said = REFUSED[way]
    status, answer = await ask(eve, item)
    assert status >= HTTPStatus.BAD_REQUEST
    assert said in answer["message"]


@pytest.mark.parametrize("way", INSIDE)
async def test_harmless_way_is_admitted_into_the_sandbox(eve: Client, way: str) -> None:
    """It is admitted, into the sandbox."""
    answer = await eve.dry_run(INSIDE[way])
    assert answer.outcome is Outcome.ALLOWED, answer.message
    assert answer.body["spec"]["runtimeClassName"] == "gvisor"


async def test_refusals_say_what_to_change(eve: Client) -> None:
    """The rule, the field, the feature and the alternative; why the sandbox is demanded."""
    message = (await eve.dry_run(REFUSED["the node's network"][0])).message
    for said in ("sandbox/incompatible", "spec.hostNetwork", "gvisor", "Leave out hostNetwork"):
        assert said in message
    assert f"The namespace {BOXED} requires a sandbox." in message
    other = (await eve.dry_run(REFUSED["another class with the same handler"][0])).message
    for said in ("sandbox/required", "spec.runtimeClassName", "also-runsc", "gvisor"):
        assert said in other


async def test_server_side_apply(eve: Client) -> None:
    """An apply that owns the field, forced, with another class, with none, or with the empty."""
    path = f"/api/v1/namespaces/{BOXED}/pods/applied"
    parameters = {"fieldManager": "x", "force": "true", "dryRun": "All"}
    for runtime in (None, "also-runsc", ""):
        item = pod_of("applied", **({} if runtime is None else {"runtimeClassName": runtime}))
        status, body = await eve.request(
            "PATCH", path, item, parameters=parameters, content_type="application/apply-patch+yaml"
        )
        if runtime is None:
            assert (status, body["spec"]["runtimeClassName"]) == (HTTPStatus.CREATED, "gvisor")
        else:
            assert status >= HTTPStatus.BAD_REQUEST


async def test_changes_of_a_template(admin: Client, eve: Client) -> None:
    """Taken out it comes back; no other class gets in, and nothing that cannot run there."""
    made = await eve.create(deployment("changed", replicas=0))
    try:
        place = {"spec": {"template": {"spec": {"runtimeClassName": None}}}}
        again = await eve.patch(made, place)
        assert again["spec"]["template"]["spec"]["runtimeClassName"] == "gvisor"
        for spec in (
            {"runtimeClassName": "also-runsc"},
            {"runtimeClassName": ""},
            {"hostNetwork": True},
            {"runtimeClassName": None, "hostPID": True},
        ):
            with pytest.raises(ApiStatusError) as refused:
                await eve.patch(made, {"spec": {"template": {"spec": spec}}})
            assert refused.value.status >= HTTPStatus.BAD_REQUEST
    finally:
        await admin.delete(made)


async def test_a_replica_set_that_claims_an_owner(admin: Client, eve: Client) -> None:
    """Its template is let alone, since its owner's would be; its Pods are in the sandbox."""
    parent = await eve.create(deployment("parent", replicas=0))
    reference = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "parent",
        "uid": parent["metadata"]["uid"],
        "controller": True,
    }
    child: Json = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "child",
            "namespace": BOXED,
            "labels": {"app": "child"},
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "child"}},
            "template": template("child"),
        },
    }
    made = await eve.create(child)
    try:
        assert "runtimeClassName" not in made["spec"]["template"]["spec"]
        (running,) = await pods_of(admin, "child")
        assert running["spec"]["runtimeClassName"] == "gvisor"
    finally:
        await admin.delete(made)
        await admin.delete(parent)


async def test_a_pod_from_before(admin: Client, eve: Client) -> None:
    """Nothing is put into a Pod that runs outside and now may not: no container, no image."""
    made = await eve.create(pod_of("outside", OPEN))
    place: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPEN}}
    debug = {"name": "debug", "image": f"registry.example/debug@sha256:{64 * 'b'}"}
    try:
        await admin.patch(place, {"metadata": {"labels": {LABEL: "required"}}})
        for _ in range(600):
            answer = await eve.dry_run_ephemeral_containers("outside", OPEN, [debug])
            if answer.outcome is Outcome.DENIED:
                break
            await asyncio.sleep(0.1)
        assert answer.outcome is Outcome.DENIED
        assert "sandbox/required" in answer.message
        image = made["spec"]["containers"][0] | {"image": debug["image"]}
        with pytest.raises(ApiStatusError) as refused:
            await eve.patch(made, {"spec": {"containers": [image]}})
        assert "sandbox/required" in refused.value.message
        relabelled = await eve.patch(made, {"metadata": {"labels": {"tier": "x"}}})
        assert relabelled["metadata"]["labels"]["tier"] == "x"
    finally:
        await admin.patch(place, {"metadata": {"labels": {LABEL: None}}})
        await admin.delete(made)


async def test_an_ephemeral_container_stays_inside(admin: Client, eve: Client) -> None:
    """In a Pod of the sandbox it is as sandboxed as the rest; what breaks it is refused."""
    made = await eve.create(pod_of("inside"))
    fine = {"name": "debug", "image": f"registry.example/debug@sha256:{64 * 'b'}"}
    try:
        taken = await eve.dry_run_ephemeral_containers("inside", BOXED, [fine])
        assert taken.outcome is Outcome.ALLOWED, taken.message
        assert taken.body["spec"]["runtimeClassName"] == "gvisor"
        wrong = fine | {"securityContext": {"privileged": True}}
        refused = await eve.dry_run_ephemeral_containers("inside", BOXED, [wrong])
        assert refused.outcome is Outcome.DENIED
    finally:
        await admin.delete(made)


CHANGES: Final[dict[str, Json]] = {
    "taken away": {LABEL: None},
    "weakened": {LABEL: "by-risk"},
    "another word": {LABEL: "no"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("subresource", ["", "/status", "/finalize"])
async def test_the_namespaces_label_is_guarded(eve: Client, change: str, subresource: str) -> None:
    """Who may change everything of a namespace but holds no `exempt` may not change this."""
    path = f"/api/v1/namespaces/{BOXED}{subresource}"
    _, now = await eve.request("GET", f"/api/v1/namespaces/{BOXED}")
    labels = now["metadata"]["labels"] | CHANGES[change]
    now["metadata"]["labels"] = {key: value for key, value in labels.items() if value is not None}
    status, body = await eve.request("PUT", path, now, parameters={"dryRun": "All"})
    assert status == HTTPStatus.FORBIDDEN, body
    assert "exempt" in body["message"]


async def test_the_class_itself(admin: Client, eve: Client) -> None:
    """Another handler under the name of the sandbox is seen; a class that is gone, too."""
    await admin.delete(runtime_class("gvisor", "runsc"))
    try:
        await _until_refused(eve, "which the cluster does not have")
        await admin.create(runtime_class("gvisor", "runc"))
        await _until_refused(eve, "the handler runc of RuntimeClass gvisor is none")
    finally:
        await admin.delete(runtime_class("gvisor", "runc"))
        await admin.create(CLASSES[0])
    for _ in range(600):
        if (await eve.dry_run(pod_of("back"))).outcome is Outcome.ALLOWED:
            return
        await asyncio.sleep(0.1)
    pytest.fail("the gate does not see the class again")


async def _until_refused(eve: Client, why: str) -> None:
    for _ in range(600):
        answer = await eve.dry_run(pod_of("seen"))
        if why in answer.message:
            assert "sandbox/runtime" in answer.message
            return
        await asyncio.sleep(0.1)
    pytest.fail(answer.message)
