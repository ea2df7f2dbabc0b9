"""Gangs of other controllers, from their recorded Pods: few classes, however many members."""

import copy
from collections.abc import Callable
from typing import Final

import pytest

from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project
from policies.projection.volumes import KnownVolumes
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.worlds.gangs import classes, gangs, pod_json, pod_name, projection, recorded

Role = Callable[[Json], str]

LWS: Final = "leaderworkerset.sigs.k8s.io"
KUBEFLOW: Final = "training.kubeflow.org"


def _label(name: str) -> Role:
    return lambda pod: str(pod["metadata"]["labels"][name])


def _all_alike(_: Json) -> str:
    return "worker"


def _leader(pod: Json) -> str:
    return "leader" if pod["metadata"]["labels"][f"{LWS}/worker-index"] == "0" else "worker"


ROLES: Final[dict[str, tuple[Role, set[str]]]] = {
    "jobset": (_all_alike, {"worker"}),
    "leaderworkerset": (_leader, {"leader", "worker"}),
    "mpijob": (_label(f"{KUBEFLOW}/replica-type"), {"launcher", "worker"}),
    "pytorchjob": (_label(f"{KUBEFLOW}/replica-type"), {"master", "worker"}),
    "raycluster": (_label("ray.io/node-type"), {"head", "worker"}),
    "volcano": (_label("volcano.sh/task-spec"), {"mpimaster", "mpiworker"}),
}
"""By what a member's class is told, and which classes there are."""

MOST_CLASSES: Final = 3
"""With so few, of a gang of 64 at least 95 % share a projection with an earlier member."""


def test_every_recorded_gang_is_asked_about() -> None:
    """None lies in the folder untested, and each has its four Pods."""
    assert {folder.name for folder in gangs()} == set(ROLES)
    assert {len(recorded(gang)) for gang in ROLES} == {4}


@pytest.mark.parametrize("gang", ROLES)
def test_members_of_a_class_share_a_projection(gang: str) -> None:
    """What policies see depends on the member's role alone, though no two Pods are the same."""
    pods, (role, named) = recorded(gang), ROLES[gang]
    assert {role(pod) for pod in pods} == named
    for each in named:
        assert len(classes(pod for pod in pods if role(pod) == each)) == 1, each
    assert len(classes(pods)) == len(named)
    assert len({pod_json(pod) for pod in pods}) == len(pods)
    assert len(named) <= MOST_CLASSES


@pytest.mark.parametrize("gang", ROLES)
async def test_the_api_takes_them_as_they_are(gang: str, admin: Client) -> None:
    """Nothing was written by hand that kube-apiserver would refuse, drop or default."""
    for pod in recorded(gang):
        fresh = copy.deepcopy(pod)
        namespace = fresh["metadata"].pop("namespace")
        for field in ("uid", "creationTimestamp", "generation"):
            fresh["metadata"].pop(field, None)
        await admin.create_namespace(namespace)
        await admin.create_service_account(fresh["spec"]["serviceAccountName"], namespace)
        answer = await admin.dry_run_create(fresh, namespace)
        assert answer.outcome is Outcome.ALLOWED, f"{pod_name(pod)}: {answer.message}"
        assert answer.body["spec"] == pod["spec"], pod_name(pod)
        assert projection(answer.body) == projection(pod)


def test_a_random_name_of_a_volume_does_not_divide_a_gang() -> None:
    """Volcano names each Pod's volume anew; what the claim is bound to is what counts."""
    disk = PersistentVolume("disk", types=("hostPath",), path="/mnt/datasets")
    workers = recorded("volcano")[1:]
    names = {pod["spec"]["volumes"][0]["name"] for pod in workers}
    assert len(names) == len(workers)

    def claimed(claim: str, _: str) -> tuple[PersistentVolume, ...]:
        return (disk,) if claim == "datasets" else ()

    seen = {encode(project(decode_pod(pod_json(pod)), KnownVolumes(claimed))) for pod in workers}
    assert len(seen) == 1
    assert b"/mnt/datasets" in seen.pop()
