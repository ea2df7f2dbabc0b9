"""Debug containers added to a running Pod are judged as Pod Security judges them."""

import copy
import json

import pytest

from tests.harness.oracles.pod_security_agreement import PROFILES, create_namespace
from tests.harness.oracles.verdicts import Verdicts
from tests.harness.programs.client import Client, Outcome
from tests.harness.worlds.pods import BARE, RESTRICTED, Base, Pod, container_mutations

HOSTS = {"restricted": RESTRICTED, "baseline": BARE, "privileged": BARE}
"""The Pod that is given a debug container at each level: the least that the level lets in."""


def debug_containers(base: Base) -> dict[str, Pod]:
    """Return the debug containers to ask about, by name: the base's own, then each change."""
    named = {base.name: base.container_of(base.pod(), "debug")}
    for mutation in container_mutations("debug"):
        pod = base.pod()
        mutation.apply(base, pod)
        named[f"{base.name} + {mutation.name}"] = base.container_of(pod, "debug")
    return named


@pytest.mark.parametrize("level", HOSTS)
async def test_debug_containers_agree(client: Client, verdicts: Verdicts, level: str) -> None:
    """For each change, the PATCH of pods/ephemeralcontainers and our verdict must agree.

    Both an own container and the bare one are tried, so that each level but privileged
    both admits and refuses.
    """
    namespace = f"ephemeral-{level}"
    await create_namespace(client, namespace, level)
    stored = await client.create(
        {**HOSTS[level].pod(), "metadata": {"name": "pod", "namespace": namespace}},
    )
    seen: set[bool] = set()
    disagreements: list[str] = []
    for name, container in (debug_containers(RESTRICTED) | debug_containers(BARE)).items():
        answer = await client.dry_run_ephemeral_containers("pod", namespace, [container])
        if answer.outcome is Outcome.INVALID:
            continue
        theirs = answer.outcome is Outcome.ALLOWED
        seen.add(theirs)
        pod = copy.deepcopy(stored)
        pod["spec"]["ephemeralContainers"] = [container]
        disagreements += [
            f"{name}: theirs {theirs} {json.dumps(view)[:2000]}"
            for view in (pod, answer.body if theirs else pod)
            if verdicts.judge(view, PROFILES[level]) is not theirs
        ]
    assert disagreements == []
    assert seen == ({True} if level == "privileged" else {True, False})
