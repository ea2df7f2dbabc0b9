"""Gangs that kube-controller-manager makes: their Pods look alike to the policies."""

import pytest

from tests.api.gangs.workloads import MEMBERS, job, stateful_set
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.gangs import Recorder, classes, pod_name


@pytest.mark.parametrize(
    ("workload", "controller"),
    [(job("indexed"), "job-controller"), (stateful_set("sharded"), "statefulset-controller")],
    ids=["Job", "StatefulSet"],
)
async def test_one_projection_for_the_whole_gang(
    workload: Json, controller: str, admin: Client, seen: Recorder
) -> None:
    """All 64 Pods have the same one, both as the gate may change them and as it judges them."""
    prefix = f"{workload['metadata']['name']}-"
    await admin.create(workload)
    requests = await seen.wait_for(prefix, MEMBERS)
    made = [request["object"] for request in requests]
    assert len({pod_name(pod) for pod in made}) == MEMBERS
    users = {request["userInfo"]["username"] for request in requests}
    assert users == {f"system:serviceaccount:kube-system:{controller}"}
    assert list(classes(made).values()) == [MEMBERS]
    earlier = [one["object"] for one in seen.mutating if pod_name(one["object"]).startswith(prefix)]
    assert len(classes(earlier)) == 1


async def test_what_differs_between_members(admin: Client, seen: Recorder) -> None:
    """The Pods themselves differ where they must, so that equal projections mean something."""
    await admin.create(job("differing"))
    requests = await seen.wait_for("differing-", MEMBERS)
    made = [request["object"] for request in requests]
    index = "batch.kubernetes.io/job-completion-index"
    numbers = {pod["metadata"]["annotations"][index] for pod in made}
    assert numbers == {str(number) for number in range(MEMBERS)}
    hostnames = {pod["spec"]["hostname"] for pod in made}
    assert len(hostnames) == MEMBERS
    token_volumes = {pod["spec"]["volumes"][-1]["name"] for pod in made}
    assert len(token_volumes) == MEMBERS, "kube-api-access-<five letters of its own>"
