"""The reviews of the bench are what it says of them."""

from typing import Any

import msgspec
import pytest

from bench.reviews import GANG, USUAL, Pods, make_pod
from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project
from webhooks.review_decoder import decode_review


def objects(pods: Pods, count: int) -> list[bytes]:
    """Return the Pods of the first reviews."""
    return [bytes(decode_review(pods.review(number)).object or b"") for number in range(count)]


def projections(pods: Pods, count: int) -> set[bytes]:
    """Return the different projections of the first Pods."""
    return {encode(project(decode_pod(pod))) for pod in objects(pods, count)}


def test_different_pods_have_different_projections() -> None:
    """No memory of evaluations could answer one of them for another."""
    assert len(projections(USUAL, 256)) == 256


def test_a_gang_has_one_projection() -> None:
    """Its Pods differ, and nothing of what differs is seen by policies."""
    assert len(set(objects(GANG, 256))) == 256
    assert len(projections(GANG, 256)) == 1


def test_members_of_a_gang_differ_where_real_ones_do() -> None:
    """Name, uid, hostname, index, rank, token volume: each is another in each Pod."""
    pods: list[dict[str, Any]] = [msgspec.json.decode(pod) for pod in objects(GANG, 64)]
    index = "batch.kubernetes.io/job-completion-index"
    for values in (
        {pod["metadata"]["name"] for pod in pods},
        {pod["metadata"]["uid"] for pod in pods},
        {pod["metadata"]["annotations"][index] for pod in pods},
        {pod["spec"]["hostname"] for pod in pods},
        {pod["spec"]["volumes"][-1]["name"] for pod in pods},
        {pod["spec"]["containers"][0]["env"][-1]["value"] for pod in pods},
    ):
        assert len(values) == len(pods)


def test_half_of_the_different_pods_comply() -> None:
    """The mix is half admitted and half refused; a gang is admitted as a whole."""
    assert [USUAL.is_compliant(number) for number in range(4)] == [True, False, True, False]
    assert all(GANG.is_compliant(number) for number in range(4))


@pytest.mark.parametrize(
    ("pods", "kilobytes"),
    [
        (Pods(containers=1, variables=0), 2),
        (USUAL, 10),
        (Pods(containers=50), 100),
        (Pods(variable_bytes=1_200), 100),
        (Pods(containers=500), 1_000),
        (Pods(variable_bytes=12_000), 1_000),
    ],
)
def test_sizes_are_about_what_is_said(pods: Pods, kilobytes: float) -> None:
    """Within a third of the size that the plots name."""
    assert pods.kilobytes == pytest.approx(kilobytes, rel=0.3)


def test_a_pod_to_create_has_nothing_that_the_api_fills_in() -> None:
    """No status, uid or managedFields; and an init container without a readiness probe."""
    pod = make_pod(0, "train")
    assert "status" not in pod
    assert set(pod["metadata"]) == {"name", "labels", "annotations", "namespace"}
    assert "readinessProbe" not in pod["spec"]["initContainers"][0]
