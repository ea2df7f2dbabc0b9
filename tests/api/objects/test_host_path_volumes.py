"""A hostPath PersistentVolume gives no Pod more than a hostPath volume would."""

import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import pytest

from tests.api.objects.claims import Storage
from tests.api.objects.other_objects import local
from tests.api.objects.people import HOST_PATHS, SHIPPED, People
from tests.api.objects.pods import with_claim, with_volume
from tests.harness.evidence import record
from tests.harness.programs.client import Answer, Client, Json, Outcome
from tests.harness.sizes import PROOF, size

PROFILES: Final = (*SHIPPED, *HOST_PATHS)
PATHS: Final = (
    "/",
    "/data",
    "/data/",
    "//data//scratch",
    "/data/./scratch",
    "/datadir",
    "/dev",
    "/dev/nvidia0",
    "/etc/kubernetes",
    "/mnt/ünïcode and spaces",
    "/proc",
    "/run/containerd/containerd.sock",
    "/sys",
    "/var/lib/kubelet",
    "/var/lib/kubelet/pod-resources",
    "/var/log",
    "/var/log/pods",
)
TYPES: Final = ("", "Directory", "DirectoryOrCreate", "Socket", "BlockDevice")
PAIRS: Final = size(ci=150, proof=3_000)
_PRIVILEGES: Final = re.compile(r"privilege (volume/\S+),")


@dataclass(frozen=True)
class Case:
    """A path of the node, reached in two ways by whoever has one profile."""

    claim: str
    path: str
    type: str
    read_only: bool
    profile: str

    def by_claim(self, namespace: str) -> Json:
        """Return the Pod that reaches it through a claim."""
        return with_claim(self.claim, namespace, read_only=self.read_only)

    def by_itself(self, namespace: str) -> Json:
        """Return the same Pod with the path in it."""
        return with_volume(host_path(self.path, self.type), namespace, read_only=self.read_only)


def host_path(path: str, of_type: str) -> Json:
    """Return the source of a volume."""
    return {"hostPath": {"path": path, **({"type": of_type} if of_type else {})}}


@pytest.mark.proof
async def test_the_verdicts_are_the_same(people: People, storage: Storage) -> None:
    """For profiles, paths, types and mounts: both Pods need the same and have the same verdict."""
    cases = await made_cases(storage)
    seen: Counter[tuple[str, Outcome]] = Counter()
    differ = []
    for case in cases:
        asked_by = people.using(case.profile)
        claimed, plain = await both(asked_by, case, storage.namespace)
        if claimed.outcome is not plain.outcome or needed(claimed) != needed(plain):
            differ.append((case, claimed.message, plain.message))
        seen[case.profile, claimed.outcome] += 1
    assert differ == []
    assert {outcome for _, outcome in seen} == {Outcome.ALLOWED, Outcome.DENIED}
    if PROOF:
        write(seen)


async def made_cases(storage: Storage) -> list[Case]:
    """Make a volume for each path and sort of volume; give cases drawn from all pairings."""
    volumes = []
    for number, (path, of_type) in enumerate(itertools.product(PATHS, (*TYPES, "local"))):
        claim = f"claim-{number}"
        source = local(path) if of_type == "local" else host_path(path, of_type)
        await storage.volume(source, claim)
        volumes.append((claim, path, "" if of_type == "local" else of_type))
    every = [
        Case(*volume, read_only, profile)
        for volume, read_only, profile in itertools.product(volumes, (False, True), PROFILES)
    ]
    drawn = random.Random(5)  # noqa: S311 -- must repeat, need not be secret
    return drawn.sample(every, min(PAIRS, len(every)))


async def both(asked_by: Client, case: Case, namespace: str) -> tuple[Answer, Answer]:
    """Ask for both Pods."""
    claimed = await asked_by.dry_run_create(case.by_claim(namespace), namespace)
    return claimed, await asked_by.dry_run_create(case.by_itself(namespace), namespace)


def needed(answer: Answer) -> set[str]:
    """Return the privileges of volumes that a refusal names."""
    return set(_PRIVILEGES.findall(answer.message))


def write(seen: Counter[tuple[str, Outcome]]) -> None:
    """Write the page."""
    total = sum(seen.values())
    lines = [
        f"- {total} pairs of Pods over {len(PATHS)} paths: a claim on a hostPath or local volume,"
        " and the same with the path itself",
        "- differences: 0",
        "",
    ]
    rows = sorted((profile, outcome.value, count) for (profile, outcome), count in seen.items())
    lines += [f"  - {profile}, {outcome}: {count}" for profile, outcome, count in rows]
    record("host-path-volumes", lines)
