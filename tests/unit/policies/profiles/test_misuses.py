"""What each profile still refuses: one step beside what it is for, and the gate says no."""

import copy
from collections.abc import Callable

import pytest

from core.profiles.privileges import PatternSet
from tests.harness.published.public_manifests import Pod, public_pods
from tests.unit.policies.profiles import changes
from tests.unit.policies.profiles.misuse import Misuse
from tests.unit.policies.profiles.misuses_of_agents import AGENT_MISUSES
from tests.unit.policies.profiles.misuses_of_workloads import WORKLOAD_MISUSES
from tests.unit.policies.profiles.pages import RECOMMENDED, read_page

MISUSES = [*WORKLOAD_MISUSES, *AGENT_MISUSES]
MODELS = {
    "isolated": "argo-cd/repo-server.yaml",
    "restricted": "argo-cd/repo-server.yaml",
    "gpu-inference": "vllm/deployment.yaml",
    "gpu-training": "rdma-shared-device-plugin/test-pod.yaml",
    "notebook": "kubeflow-notebook/notebook.yaml",
    "baseline": "kube-state-metrics/deployment.yaml",
    "gpu-health": "dcgm-exporter/daemonset.yaml",
    "log-agent": "fluent-bit/daemonset.yaml",
    "node-agent": "nvidia-device-plugin/daemonset.yaml",
}
"""For each profile a Pod that it covers, to go astray from."""


def model(profile: str) -> Pod:
    """Return a Pod that a profile covers: an example of its page, changed as the page says."""
    example = MODELS[profile]
    page = read_page("restricted" if profile == "isolated" else profile)
    pod = copy.deepcopy(next(pod for name, pod in public_pods() if name == example))
    for name in page.tried[example]:
        changes.apply(name, pod)
    if profile == "isolated":
        pod["spec"]["hostUsers"] = False
    return pod


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: f"{misuse.profile}: {misuse.what}")
def test_a_step_astray_is_refused_for_exactly_that(
    misuse: Misuse, uncovered: Callable[[str, Pod], set[str]]
) -> None:
    """The Pod is covered, then changed in one thing, and lacks what that thing needs alone."""
    pod = model(misuse.profile)
    assert uncovered(misuse.profile, pod) == set()
    misuse.apply(pod)
    assert uncovered(misuse.profile, pod) == misuse.needs


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: f"{misuse.profile}: {misuse.what}")
def test_the_page_says_that_it_is_refused(misuse: Misuse) -> None:
    """Whoever is refused finds on the page what to do instead."""
    refused = PatternSet(read_page(misuse.profile).refused)
    assert [each for each in misuse.needs if not refused.covers(each)] == []


def test_each_profile_of_pods_has_five_misuses_or_more() -> None:
    """None is only praised."""
    counts = {profile: sum(misuse.profile == profile for misuse in MISUSES) for profile in MODELS}
    assert min(counts.values()) >= 5
    without = {"csi-drivers", "entering", "registries", "rights-manager", "storage-provisioner"}
    assert set(MODELS) == set(RECOMMENDED) - without
