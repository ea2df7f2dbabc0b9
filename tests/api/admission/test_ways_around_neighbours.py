"""Ways around what issue 24 built, tried by somebody who did not build it: namespaces, large Pods.

On a real kube-apiserver, as a person who may change the namespace and make Pods in it.
"""

import json
from http import HTTPStatus
from typing import Final

import pytest

from tests.api.admission.objects import GOOD, allow_pods, new_namespace, privileged
from tests.harness.programs.client import (
    APPLY_PATCH,
    STRATEGIC_MERGE_PATCH,
    ApiStatusError,
    Client,
    Json,
    Outcome,
)
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.rbac import grant, rule, user

EVE: Final = "eve-of-neighbours@example.com"
RANGE: Final = "sallyport.dev/uid-range"
GROUPS: Final = "sallyport.dev/supplemental-groups"
MERGE: Final = "application/merge-patch+json"


@pytest.fixture
async def namespace(admin: Client) -> str:
    """A namespace with IDs of its own, which EVE may change in every way but `exempt`."""
    name = await new_namespace(admin, {RANGE: "1000680000/10000"})
    await allow_pods(admin, name, EVE)
    rights = rule([""], "namespaces namespaces/status namespaces/finalize", "get update patch")
    await admin.apply(grant(f"changes-{name}", rights, user(EVE)))
    eve = admin.as_user(EVE)
    await eve.wait_until_can("update", {"resource": "namespaces", "subresource": "finalize"})
    return name


WIDER: Final[dict[str, Json]] = {
    "wider": {RANGE: "1/2147483647"},
    "taken away": {RANGE: None},
    "more groups": {GROUPS: "1000680000/10000,4000-4999"},
    "the same with a space": {RANGE: " 1000680000/10000"},
}


@pytest.mark.parametrize("part", ["", "/status", "/finalize"])
@pytest.mark.parametrize("annotations", WIDER.values(), ids=WIDER)
async def test_the_ids_of_a_namespace_by_another_door(
    admin: Client, namespace: str, part: str, annotations: Json
) -> None:
    """Wants the numbers of another namespace, by a subresource that carries annotations along."""
    path = f"/api/v1/namespaces/{namespace}{part}"
    eve = admin.as_user(EVE)
    if part == "/finalize":  # It takes a whole object alone.
        whole = await admin.get("v1", "Namespace", namespace)
        kept = {**whole["metadata"]["annotations"], **annotations}
        whole["metadata"]["annotations"] = {key: value for key, value in kept.items() if value}
        status, answer = await eve.request("PUT", path, whole)
    else:
        body = {"metadata": {"annotations": annotations}}
        status, answer = await eve.request("PATCH", path, body, content_type=MERGE)
    assert status == HTTPStatus.FORBIDDEN, answer
    found = await admin.get("v1", "Namespace", namespace)
    assert found["metadata"]["annotations"][RANGE] == "1000680000/10000"


async def ask(client: Client, namespace: str, body: Json | str, **how: str) -> tuple[int, str]:
    """Try to create a Pod; return status and message."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    parameters = {"dryRun": "All", "fieldValidation": "Ignore", **how}
    status, answer = await client.request("POST", path, body, parameters=parameters)
    return status, str(answer.get("message", answer))


SPOKEN: Final = {
    "a key twice, the harmless one first": '"hostNetwork": false, "hostNetwork": true',
    "the key in other letters first": '"HostNetwork": false, "hostNetwork": true',
    "an escaped key": '"host\\u004eetwork": true',
    "null first": '"hostNetwork": null, "hostNetwork": true',
}


@pytest.mark.parametrize("keys", SPOKEN.values(), ids=SPOKEN)
async def test_a_pod_whose_json_can_be_read_in_two_ways(
    admin: Client, namespace: str, keys: str
) -> None:
    """Wants the node's network by JSON that the gate reads in another way than kube-apiserver."""
    body = json.dumps(GOOD()).replace('"spec": {', f'"spec": {{{keys}, ', 1)
    status, message = await ask(admin.as_user(EVE), namespace, body)
    assert status == HTTPStatus.FORBIDDEN, message
    assert "host/network" in message


async def test_a_key_that_kube_apiserver_drops_changes_nothing(
    admin: Client, namespace: str
) -> None:
    """What is in other letters is no field: kube-apiserver stores none, and the gate sees none."""
    body = json.dumps(GOOD()).replace('"spec": {', '"spec": {"HostNetwork": true, ', 1)
    status, message = await ask(admin.as_user(EVE), namespace, body)
    assert status == HTTPStatus.CREATED, message
    assert "HostNetwork" not in message


async def test_a_pod_that_says_that_it_runs_already(admin: Client, namespace: str) -> None:
    """Wants to be taken for a Pod from before: with a status, a UID, a node's mark, an old time."""
    pod = privileged()
    pod["metadata"] |= {
        "uid": "6f3c1f0e-0000-4000-8000-000000000001",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "generation": 7,
    }
    pod["status"] = {"phase": "Running", "podIP": "192.0.2.7"}
    answer = await admin.as_user(EVE).dry_run_create(pod, namespace)
    assert answer.outcome is Outcome.DENIED, answer
    assert "host/network" in answer.message
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    answer = await admin.as_user(EVE).dry_run_create(pod, namespace)
    assert answer.outcome is not Outcome.ALLOWED, answer


LARGE: Final[dict[str, Json]] = {
    "by annotations": {"annotations": {"padding": "," * 18_000}},
    "by a label's neighbours": {"annotations": {f"a{n}": "[{" for n in range(900)}},
}


@pytest.mark.parametrize("metadata", LARGE.values(), ids=LARGE)
async def test_a_large_pod_is_judged_as_a_small_one(
    admin: Client, namespace: str, metadata: Json
) -> None:
    """Wants what is large to be read less closely."""
    pod = privileged()
    pod["metadata"] |= metadata
    answer = await admin.as_user(EVE).dry_run_create(pod, namespace)
    assert answer.outcome is Outcome.DENIED, answer.message
    assert "host/network" in answer.message


async def test_a_large_update_by_every_subresource(admin: Client, namespace: str) -> None:
    """Wants a change let pass whose object is too large now: it was made before the bound."""
    pod = GOOD()
    pod["metadata"] |= {"namespace": namespace, "annotations": {"padding": "," * 18_000}}
    name = (await admin.create(pod))["metadata"]["name"]
    eve = admin.as_user(EVE)
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    debug = {**pod["spec"]["containers"][0], "name": "d", "securityContext": {"privileged": True}}
    tries: dict[str, Json] = {
        "": {"metadata": {"annotations": {"io.katacontainers.config.x": "y"}}},
        "/status": {"metadata": {"annotations": {"io.katacontainers.config.x": "y"}}},
        "/ephemeralcontainers": {"spec": {"ephemeralContainers": [debug]}},
    }
    rights = rule([""], "pods/status", "update patch")
    await admin.apply(grant("status", rights, user(EVE), namespace=namespace))
    await eve.wait_until_can(
        "patch", {"resource": "pods", "subresource": "status", "namespace": namespace}
    )
    for part, body in tries.items():
        status, answer = await eve.request(
            "PATCH", f"{path}{part}", body, content_type=STRATEGIC_MERGE_PATCH
        )
        assert status == HTTPStatus.FORBIDDEN, (part, answer)


async def test_server_side_apply_of_a_part(admin: Client, namespace: str) -> None:
    """Wants one field added by apply, whose body holds nothing else to judge."""
    pod = GOOD()
    pod["metadata"]["namespace"] = namespace
    name = (await admin.create(pod))["metadata"]["name"]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"run.oci.handler": "x"}},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    parameters = {"fieldManager": "eve", "force": "true"}
    status, answer = await admin.as_user(EVE).request(
        "PATCH", path, body, parameters=parameters, content_type=APPLY_PATCH
    )
    assert status == HTTPStatus.FORBIDDEN, answer


async def test_what_is_admitted_and_never_made_is_decided_each_time(
    admin: Client, installation: Installation, namespace: str
) -> None:
    """Wants records without end at no cost: docs/security-model.md says that these have no budget.

    kube-apiserver asks the gate before it sees that the name is taken.
    """
    pod = GOOD()
    pod["metadata"] |= {"namespace": namespace, "name": "taken"}
    eve = admin.as_user(EVE)
    await eve.create(pod)
    before = admitted(installation)
    for _ in range(5):
        with pytest.raises(ApiStatusError) as error:
            await eve.create(pod)
        assert error.value.status == HTTPStatus.CONFLICT
    assert admitted(installation) - before >= 5


def admitted(installation: Installation) -> float:
    """Return how many Pods the gate has admitted while validating."""
    _, text = installation.gate.status("/metrics")
    lines = [line for line in text.splitlines() if line.startswith("sallyport_admissions_total{")]
    found = [line for line in lines if 'webhook="validate"' in line and 'verdict="allow"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in found)
