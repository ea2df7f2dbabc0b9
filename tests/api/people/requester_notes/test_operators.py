"""Chains of operators with their own controllers: a human's name comes down to the Pods.

JobSet makes Jobs, whose Pods Kubernetes makes; KubeRay makes a RayCluster for a RayJob, and the
Pods of that.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.api.people.requester_notes.conftest import (
    ANN,
    BEN,
    NAMESPACE,
    Installation,
    of_pod,
    reference,
    template,
    workload,
)
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.programs.operators import JOBSET, KUBERAY, running
from tests.harness.sizes import PROOF

# Two programs have to be built for it, minutes of both cores.
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)"),
]

REQUESTER: Final = "sallyport.dev/requester"


@pytest.fixture(scope="module")
def jobsets(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """JobSet's controller and its own webhooks."""
    with running(JOBSET, installation.apiserver, tmp_path_factory.mktemp("jobset")):
        yield


@pytest.fixture(scope="module")
def rays(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """KubeRay's controllers."""
    with running(KUBERAY, installation.apiserver, tmp_path_factory.mktemp("ray")):
        yield


def jobset(name: str, **spec: object) -> Json:
    """Return a JobSet of one Job of one Pod."""
    job = {"backoffLimit": 0, "template": template(name, restartPolicy="Never", **spec)}
    replicated = {"name": "workers", "replicas": 1, "template": {"spec": job}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicatedJobs": [replicated]},
    }


def rayjob(name: str, **spec: object) -> Json:
    """Return a RayJob for a head and a worker."""
    pods = {"template": template(name, **spec)}
    head = {"rayStartParams": {}, **pods}
    worker = {"groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    workers = [{**worker, "rayStartParams": {}, **pods}]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "entrypoint": "python train.py",
            "rayClusterSpec": {
                "rayVersion": "2.46.0",
                "headGroupSpec": head,
                "workerGroupSpecs": workers,
            },
        },
    }


@pytest.mark.usefixtures("jobsets")
async def test_the_pods_of_a_job_set_name_who_asked_for_it(
    installation: Installation, admin: Client, ann: Client
) -> None:
    """Over the Job that JobSet's controller made, under the profile that was noted."""
    made = await ann.create(jobset("set"))
    decision = await installation.decision(of_pod("set-workers-0-"))
    job = installation.decisions(
        lambda d: d["request"]["kind"] == "Job" and d["request"]["name"] == "set-workers-0"
    )[0]
    await admin.delete(made)
    assert made["metadata"]["annotations"][REQUESTER] == ANN
    assert (job["requester"], job["requesterKind"]) == (JOBSET.user, "controller")
    for each in (job, decision):
        assert (each["verdict"], each["profile"], each["traced"]) == (
            "allow",
            "pss-baseline",
            "noted",
        )
        assert each["root"] == {
            "kind": "JobSet",
            "name": "set",
            "uid": made["metadata"]["uid"],
            "requester": ANN,
            "profile": "pss-baseline",
        }


@pytest.mark.usefixtures("jobsets")
async def test_a_job_that_ben_puts_under_anns_job_set(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """The Job is noted as Ben's, and so are its Pods."""
    anns = jobset("anns-set")
    anns["spec"]["suspend"] = True
    made = await ann.create(anns)
    forged = workload("Job", "anns-set-workers-9")
    forged["metadata"]["ownerReferences"] = [reference(made)]
    forged["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-name": "anns-set"}
    job = await ben.create(forged)
    assert job["metadata"]["annotations"][REQUESTER] == BEN
    decision = await installation.decision(of_pod("anns-set-workers-9-"))
    await admin.delete(made)
    assert decision["root"]["requester"] == BEN


@pytest.mark.usefixtures("jobsets")
async def test_a_bad_template_of_a_job_set_is_refused_at_the_root(ann: Client) -> None:
    """Before anything is made of it, with the path in the JobSet."""
    answer = await ann.dry_run(jobset("bad-set", hostPID=True))
    assert answer.outcome is Outcome.DENIED
    path = "spec.replicatedJobs[0].template.spec.template.spec.hostPID"
    assert path in answer.message


@pytest.mark.usefixtures("rays")
async def test_the_pods_of_a_ray_job_name_who_asked_for_it(
    installation: Installation, admin: Client, ann: Client
) -> None:
    """Head and worker, over the RayCluster that KubeRay made for the RayJob."""
    made = await ann.create(rayjob("ray"))
    head = await installation.decision(
        lambda d: of_pod("ray-")(d) and "-head" in d["request"]["name"]
    )
    worker = await installation.decision(
        lambda d: of_pod("ray-")(d) and "-worker" in d["request"]["name"]
    )
    clusters = installation.decisions(lambda d: d["request"]["kind"] == "RayCluster")
    await admin.delete(made)
    assert {each["requester"] for each in clusters} == {KUBERAY.user}
    for each in (head, worker, clusters[0]):
        assert (each["verdict"], each["profile"], each["traced"]) == (
            "allow",
            "pss-baseline",
            "noted",
        )
        root = each["root"]
        assert (root["kind"], root["name"], root["requester"]) == ("RayJob", "ray", ANN)
        assert root["uid"] == made["metadata"]["uid"]


@pytest.mark.usefixtures("rays")
async def test_a_ray_cluster_that_ben_puts_under_anns_ray_job(
    installation: Installation, admin: Client, ann: Client, ben: Client
) -> None:
    """It is noted as Ben's, and so are its Pods."""
    anns = rayjob("anns-ray")
    anns["spec"]["suspend"] = True
    made = await ann.create(anns)
    forged = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": "bens-cluster",
            "namespace": NAMESPACE,
            "ownerReferences": [reference(made)],
        },
        "spec": rayjob("bens")["spec"]["rayClusterSpec"],
    }
    cluster = await ben.create(forged)
    assert cluster["metadata"]["annotations"][REQUESTER] == BEN
    decision = await installation.decision(of_pod("bens-cluster-"))
    await admin.delete(cluster)
    await admin.delete(made)
    assert decision["root"]["requester"] == BEN


@pytest.mark.usefixtures("rays")
async def test_a_bad_template_of_a_ray_job_is_refused_at_the_root(ann: Client) -> None:
    """Before anything is made of it, with the path in the RayJob."""
    answer = await ann.dry_run(rayjob("bad-ray", hostPID=True))
    assert answer.outcome is Outcome.DENIED
    assert "spec.rayClusterSpec.headGroupSpec.template.spec.hostPID" in answer.message
