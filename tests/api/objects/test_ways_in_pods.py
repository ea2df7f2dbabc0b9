"""Ways to a device, a token or a node, in Pods: refused with the privilege that they take."""

import copy

import pytest

from tests.api.objects.conftest import Refused
from tests.api.objects.people import People
from tests.api.objects.pods import TRAIN, container, pod
from tests.api.objects.ways import WAYS, Way
from tests.harness.programs.client import (
    STRATEGIC_MERGE_PATCH,
    ApiStatusError,
    Client,
    Json,
    Outcome,
)

pytestmark = pytest.mark.proof

every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
anywhere = pytest.mark.parametrize(
    "way", [way for way in WAYS if way.anywhere], ids=lambda way: way.name
)


def changed(way: Way) -> Json:
    """Return a Pod that goes a way."""
    made = pod()
    way.change(made, made["spec"]["containers"][0])
    return made


async def test_the_pod_without_any_way_is_admitted(people: People) -> None:
    """What is refused below is refused for what was added: without it `restricted` covers it."""
    answer = await people.using("restricted").dry_run_create(pod(), TRAIN)
    assert answer.outcome is Outcome.ALLOWED, answer.message


@every_way
async def test_whoever_has_restricted_alone_is_refused(
    people: People, way: Way, refused: Refused
) -> None:
    """Each way is refused, and the refusal names every privilege that it takes."""
    answer = await people.using("restricted").dry_run_create(changed(way), TRAIN)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert [each for each in way.privileges if f"privilege {each}," not in answer.message] == []
    refused[way.name] = way.privileges


@every_way
async def test_whoever_may_go_a_way_is_admitted(people: People, way: Way) -> None:
    """`restricted` and the way's privileges admit it: it takes no others."""
    answer = await people.using(f"may-{way.name}").dry_run_create(changed(way), TRAIN)
    assert answer.outcome is Outcome.ALLOWED, answer.message


@every_way
async def test_baseline_refuses_all_but_what_published_software_needs(
    people: People, way: Way
) -> None:
    """Whoever has `baseline` alone goes only the ways that its page argues for."""
    answer = await people.using("baseline").dry_run_create(changed(way), TRAIN)
    assert answer.outcome is (Outcome.ALLOWED if way.baseline else Outcome.DENIED), answer.message


@anywhere
async def test_an_init_container_is_no_way_around(people: People, way: Way) -> None:
    """The same in an init container is refused, and admitted for who may."""
    made = pod()
    init = {**container("init"), "resources": {"limits": {"memory": "1Gi"}}}
    made["spec"]["initContainers"] = [init]
    way.change(made, init)
    answer = await people.using("restricted").dry_run_create(made, TRAIN)
    assert answer.outcome is Outcome.DENIED
    assert "spec.initContainers[0]" in answer.message
    answer = await people.using(f"may-{way.name}").dry_run_create(made, TRAIN)
    assert answer.outcome is Outcome.ALLOWED, answer.message


@anywhere
async def test_an_ephemeral_container_is_no_way_around(
    people: People, admin: Client, way: Way
) -> None:
    """The same in a container added to a running Pod is refused, and admitted for who may."""
    name = f"running-{way.name}"
    await people.using("restricted").create(pod(name))
    debug = container("debug")
    way.change({}, debug)
    ask = people.using("restricted").dry_run_ephemeral_containers
    answer = await ask(name, TRAIN, [debug])
    assert answer.outcome is Outcome.DENIED
    assert "spec.ephemeralContainers[0]" in answer.message
    # A Pod keeps the profile that it was admitted under, so it is made again by who may.
    await admin.delete(pod(name))
    holder = people.using(f"may-{way.name}")
    noted = pod(name)
    noted["metadata"]["annotations"] = {"sallyport.dev/profile": f"may-{way.name}"}
    await holder.create(noted)
    answer = await holder.dry_run_ephemeral_containers(name, TRAIN, [copy.deepcopy(debug)])
    assert answer.outcome is Outcome.ALLOWED, answer.message
    await admin.delete(noted)


@every_way
async def test_a_template_of_pods_is_no_way_around(people: People, way: Way) -> None:
    """The same in a PodTemplate is refused with the field's path in it, and admitted for who may.

    A template has no owner to judge by later: whoever writes it answers for it.
    """
    made = changed(way)
    item = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "template", "namespace": TRAIN},
        "template": {"metadata": made["metadata"], "spec": made["spec"]},
    }
    answer = await people.using("restricted").dry_run(item)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert f"privilege {way.privileges[0]}," in answer.message
    assert "template." in answer.message
    answer = await people.using(f"may-{way.name}").dry_run(item)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_tolerations_added_later_are_judged(people: People, admin: Client) -> None:
    """Tolerations are what an update may add to a Pod: everything is refused there as well."""
    made = pod("tolerant")
    researcher = people.using("restricted")
    created = await researcher.create(made)
    tolerations = created["spec"]["tolerations"]
    harmless = {"key": "gpu", "operator": "Exists"}
    await researcher.patch(made, {"spec": {"tolerations": [*tolerations, harmless]}})
    everything = {"spec": {"tolerations": [*tolerations, harmless, {"operator": "Exists"}]}}
    with pytest.raises(ApiStatusError, match="scheduling/tolerate/everything"):
        await researcher.patch(made, everything)
    await admin.delete(made)


async def test_a_limit_cannot_be_taken_away_later(people: People, admin: Client) -> None:
    """A resize may set a limit to 0: who may not do without one is refused, and may set another."""
    made = pod("resized")
    # No resize changes the class of a Pod's quality of service: the CPU keeps it.
    made["spec"]["containers"][0]["resources"] = {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "0"},
    }
    researcher = people.using("restricted")
    await researcher.create(made)
    await place(admin, made)
    answer = await resized(researcher, made, "2Gi")
    assert answer[0] == 200, answer
    status, message = await resized(researcher, made, "0")
    assert status == 403
    assert "privilege limits/unset/memory," in message
    await admin.delete(made)


async def place(admin: Client, made: Json) -> None:
    """Put a Pod on a node, as the scheduler does: kube-apiserver resizes only Pods of nodes."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-node-1"}}
    await admin.apply([node])
    versions = "kernelVersion osImage containerRuntimeVersion kubeProxyVersion architecture bootID"
    system = dict.fromkeys([*versions.split(), "machineID", "systemUUID"], "")
    info = {**system, "kubeletVersion": "v1.36.0", "operatingSystem": "linux"}
    room = {"cpu": "8", "memory": "64Gi", "pods": "10"}
    said = {"status": {"nodeInfo": info, "allocatable": room, "capacity": room}}
    status, answer = await admin.request(
        "PATCH", "/api/v1/nodes/gpu-node-1/status", said, content_type=STRATEGIC_MERGE_PATCH
    )
    assert status == 200, answer
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": made["metadata"]["name"]},
        "target": {"kind": "Node", "name": "gpu-node-1"},
    }
    path = f"/api/v1/namespaces/{TRAIN}/pods/{made['metadata']['name']}/binding"
    status, answer = await admin.request("POST", path, binding)
    assert status == 201, answer


async def resized(client: Client, made: Json, quantity: str) -> tuple[int, str]:
    """Set the limit of memory of a running Pod; give the status and the message."""
    container = {"name": "main", "resources": {"limits": {"memory": quantity}}}
    path = f"/api/v1/namespaces/{TRAIN}/pods/{made['metadata']['name']}/resize"
    patch = {"spec": {"containers": [container]}}
    status, answer = await client.request("PATCH", path, patch, content_type=STRATEGIC_MERGE_PATCH)
    return status, str(answer.get("message", ""))


async def test_a_user_namespace_is_demanded_where_isolated_is_all(people: People) -> None:
    """Whoever has `isolated` alone must ask for a user namespace; leaving it out is refused."""
    isolated = people.using("isolated")
    answer = await isolated.dry_run_create(pod(), TRAIN)
    assert answer.outcome is Outcome.DENIED
    assert "privilege run-as/host-users," in answer.message
    made = pod()
    made["spec"]["hostUsers"] = False
    answer = await isolated.dry_run_create(made, TRAIN)
    assert answer.outcome is Outcome.ALLOWED, answer.message
