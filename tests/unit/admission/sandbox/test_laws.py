"""Laws of the sandbox, over generated Pods and the built-in policies."""

import asyncio
import copy
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision.decision import Decision
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from sandbox.runtime_choice import SandboxSettings
from tests.harness.oracles.json_patch import apply_patch
from tests.harness.worlds.pods import pods
from tests.unit.admission.sandbox.sandbox_cluster import (
    final,
    judge,
    mutated,
    namespace,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import Folder, request

Json = dict[str, Any]

GENERATED: Final = [pod for _, pod in islice(pods(20261122), 300)]
RUNTIMES: Final = ("gvisor", "kata-vm-isolation")


def _context(pod: Json, **more: Any) -> None:
    container = pod["spec"]["containers"][0]
    container["securityContext"] = (container.get("securityContext") or {}) | more


def _capability(pod: Json) -> None:
    container = pod["spec"]["containers"][0]
    before = (container.get("securityContext") or {}).get("capabilities") or {}
    added = [*(before.get("add") or ()), "SYS_ADMIN"]
    _context(pod, capabilities={**before, "add": added})


def _host_path(pod: Json) -> None:
    volume = {"name": "added", "hostPath": {"path": "/var/lib/added"}}
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or ()), volume]
    container = pod["spec"]["containers"][0]
    mount = {"name": "added", "mountPath": "/added"}
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


PRIVILEGES: Final[dict[str, Callable[[Json], None]]] = {
    "host network": lambda pod: pod["spec"].update(hostNetwork=True),
    "host processes": lambda pod: pod["spec"].update(hostPID=True),
    "privileged": lambda pod: _context(pod, privileged=True),
    "capability": _capability,
    "root": lambda pod: _context(pod, runAsUser=0, runAsNonRoot=False),
    "host path": _host_path,
    "processes": lambda pod: pod["spec"].update(shareProcessNamespace=True),
}


@pytest.fixture
def clusters(tmp_path: Path) -> dict[str, FolderCluster]:
    """By mode, a cluster with one profile for everything, and both sandboxes."""
    made = {}
    for mode in ("by-risk", "required"):
        folder = runtime_class(Folder(tmp_path / mode))
        runtime_class(folder, RUNTIMES[1], "kata")
        made[mode] = profiled(namespace(folder, None), "wide", mode).cluster()
    return made


def sandbox_rank(decision: Decision) -> int:
    """Return how strictly a Pod is held: not, in a sandbox, or refused."""
    if any(each.rule.startswith("sandbox/") for each in decision.findings):
        return 2
    return int(bool(decision.sandbox and decision.sandbox.runtime))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(GENERATED),
    st.sampled_from(sorted(PRIVILEGES)),
    st.sampled_from(["by-risk", "required"]),
    st.integers(1, 120),
    st.sampled_from([1, 2]),
)
def test_another_privilege_never_isolates_less(  # noqa: PLR0913, PLR0917  All that may matter.
    engine: EmbeddedEngine,
    clusters: dict[str, FolderCluster],
    pod: Json,
    privilege: str,
    mode: str,
    threshold: int,
    runtimes: int,
) -> None:
    """Under one and the same profile, whatever the threshold and the runtimes."""
    site = SandboxSettings(RUNTIMES[:runtimes], threshold=threshold)
    by = judge(clusters[mode], engine, site)
    changed = copy.deepcopy(pod)
    PRIVILEGES[privilege](changed)

    async def judged(made: Json) -> int:
        return sandbox_rank(await by.validate(request(made), budget=10))

    assert asyncio.run(judged(changed)) >= asyncio.run(judged(pod))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(GENERATED), st.sampled_from(["by-risk", "required"]))
def test_twice_is_once_and_the_final_state_is_admitted(
    engine: EmbeddedEngine, clusters: dict[str, FolderCluster], pod: Json, mode: str
) -> None:
    """What the mutating pass set it sets no more; the validating pass agrees."""
    by = judge(clusters[mode], engine)

    async def passes() -> None:
        first = await mutated(by, request(pod))
        patched = apply_patch(pod, first.filled)
        again = await mutated(by, request(patched))
        assert [each for each in again.filled if "runtimeClassName" in each["path"]] == []
        if first.filled:
            last = await final(by, request(patched))
            assert sandbox_rank(last) == 1
            assert last.sandbox is not None
            assert patched["spec"]["runtimeClassName"] == last.sandbox.runtime

    asyncio.run(passes())
