"""The profiles on published manifests: covered after the stated changes, refused without any."""

import copy
from collections.abc import Callable, Iterator

import pytest

from core.profiles.privileges import PatternSet
from tests.harness.published.public_manifests import Pod, public_manifests, public_pods
from tests.unit.policies.profiles import changes
from tests.unit.policies.profiles.conftest import Ask
from tests.unit.policies.profiles.pages import RECOMMENDED, read_page

Uncovered = Callable[[str, Pod], set[str]]

FILES: dict[str, list[Pod]] = {}
for _name, _pod in public_pods():
    FILES.setdefault(_name.partition("#")[0], []).append(_pod)

TRIED = [
    (profile, example, tried)
    for profile in RECOMMENDED
    for example, tried in read_page(profile).tried.items()
]
NOWHERE = {
    "coredns/deployment.yaml",
    "metrics-server/deployment.yaml",
    "nfs-subdir-external-provisioner/deployment.yaml",
    "node-exporter/daemonset.yaml",
    "nvidia-driver-installer/daemonset.yaml",
}
"""Examples that no recommended profile is for."""


def changed(pods: list[Pod], names: Iterator[str] | tuple[str, ...]) -> list[Pod]:
    """Return copies of Pods with changes made."""
    found = copy.deepcopy(pods)
    for name in names:
        for pod in found:
            changes.apply(name, pod)
    return found


def test_thirty_or_more_programs_are_tried() -> None:
    """What is said of real software is said of enough of it."""
    assert len({file.partition("/")[0] for file in FILES}) >= 40
    assert len({file for file, _ in public_manifests()}) >= 50
    assert sum(len(pods) for pods in FILES.values()) >= 60


def test_every_example_is_on_a_page_or_known_to_be_on_none() -> None:
    """A manifest that nobody tried anything on would be dead weight."""
    assert {example for _, example, _ in TRIED} | NOWHERE == set(FILES)


@pytest.mark.parametrize(("profile", "example", "tried"), TRIED, ids=lambda value: str(value)[:60])
def test_profile_covers_the_example_after_the_stated_changes(
    profile: str, example: str, tried: tuple[str, ...], uncovered: Uncovered
) -> None:
    """Every Pod of the file, through the real projection and the real rules."""
    for pod in changed(FILES[example], tried):
        assert uncovered(profile, pod) == set()


@pytest.mark.parametrize(("profile", "example", "tried"), TRIED, ids=lambda value: str(value)[:60])
def test_no_stated_change_can_be_left_out(
    profile: str, example: str, tried: tuple[str, ...], uncovered: Uncovered
) -> None:
    """Without any one of them the profile refuses some Pod of the file, so each is needed."""
    for left_out in tried:
        others = tuple(name for name in tried if name != left_out)
        assert any(uncovered(profile, pod) for pod in changed(FILES[example], others)), left_out


@pytest.mark.parametrize("example", sorted(NOWHERE))
def test_what_no_profile_is_for_is_refused_by_all(example: str, uncovered: Uncovered) -> None:
    """With every image pinned, each recommended profile still lacks something."""
    for profile in RECOMMENDED:
        assert any(uncovered(profile, pod) for pod in changed(FILES[example], ("digest",)))


@pytest.mark.parametrize("example", sorted({e for p, e, _ in TRIED if p == "restricted"}))
def test_isolated_covers_the_same_with_a_user_namespace(example: str, uncovered: Uncovered) -> None:
    """What restricted covers, isolated covers once hostUsers is false, and not before."""
    for pod in changed(FILES[example], read_page("restricted").tried[example]):
        assert uncovered("isolated", pod) == {"run-as/host-users"}
        pod["spec"]["hostUsers"] = False
        assert uncovered("isolated", pod) == set()


def test_all_examples_are_judged(ask: Ask) -> None:
    """None is an error, none needs nothing: each image alone is a privilege. None is denied."""
    for pods in FILES.values():
        for pod in pods:
            answer = ask(pod)
            registries = PatternSet(["image/from/**"])
            assert any(registries.covers(need.privilege) for need in answer.needs)
            assert answer.denials == ()
