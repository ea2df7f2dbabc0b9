"""What holds for every Pod that defaults are filled into."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from core.decision.decision import Decision, Verdict
from core.decision.request import Request
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.both_passes import ALL_DEFAULTS, LAX, mutated, with_defaults
from tests.unit.admission.world import ALICE, IMAGE, Folder, judge_of, request

CONTROLLER = Subject(
    "system:serviceaccount:kube-system:job-controller", groups=["system:serviceaccounts"]
)
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
_absent = st.none()
_seccomp = _absent | st.sampled_from(["RuntimeDefault", "Unconfined"]).map(lambda t: {"type": t})
_capabilities = st.fixed_dictionaries(
    {},
    optional={
        "add": st.lists(st.sampled_from(["CHOWN", "CAP_SYS_ADMIN", "NET_RAW", "ALL"]), max_size=2),
        "drop": st.lists(st.sampled_from(["ALL", "NET_RAW"]), max_size=1),
    },
)
_context = _absent | st.fixed_dictionaries(
    {},
    optional={
        "privileged": _absent | st.booleans(),
        "allowPrivilegeEscalation": _absent | st.booleans(),
        "capabilities": _absent | _capabilities,
        "seccompProfile": _seccomp,
        "runAsNonRoot": st.booleans(),
    },
)
_variable = st.fixed_dictionaries(
    {"name": st.sampled_from(["NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", "LANG"])},
    optional={"value": st.sampled_from(["all", "void", "", "0"])},
)
_mount = st.sampled_from(["kube-api-access-abcde", "kube-api-access-zyxwv", "data"]).flatmap(
    lambda name: st.sampled_from([TOKEN, f"/{name}"]).map(
        lambda path: {"name": name, "mountPath": path}
    )
)
_container = st.fixed_dictionaries(
    {"name": st.just("main"), "image": st.just(IMAGE)},
    optional={
        "securityContext": _context,
        "env": _absent | st.lists(_variable, max_size=2),
        "volumeMounts": _absent | st.lists(_mount, max_size=3),
        "resources": st.sampled_from([{"nvidia.com/gpu": "1"}, {"cpu": "1", "amd.com/gpu": 0}]).map(
            lambda limits: {"limits": limits}
        ),
    },
)
_volumes = st.permutations(
    [
        {"name": "data", "emptyDir": {}},
        {
            "name": "kube-api-access-abcde",
            "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
        },
        {
            "name": "kube-api-access-zyxwv",
            "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
        },
        {
            "name": "own",
            "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
        },
    ]
).flatmap(lambda all_: st.integers(0, 4).map(lambda count: all_[:count]))
_spec = st.fixed_dictionaries(
    {"containers": st.lists(_container, min_size=1, max_size=2)},
    optional={
        "initContainers": _absent | st.lists(_container, max_size=2),
        "volumes": _volumes,
        "securityContext": _absent
        | st.fixed_dictionaries({}, optional={"seccompProfile": _seccomp}),
        "automountServiceAccountToken": _absent | st.booleans(),
        "os": st.sampled_from([{"name": "windows"}, {"name": "linux"}]),
        "hostUsers": st.sampled_from([False]),
    },
)
_metadata = st.fixed_dictionaries(
    {"name": st.just("llama-0")},
    optional={"annotations": st.sampled_from([{}, {"a": "b"}, {"sallyport.dev/profile": "lax"}])},
)
_owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "o", "uid": "u", "controller": True}


@st.composite
def _requests(draw: st.DrawFn) -> Request:
    """A new Pod, of a person or of the Job controller."""
    metadata: dict[str, Any] = dict(draw(_metadata))
    made_by_controller = draw(st.booleans())
    if made_by_controller:
        metadata["ownerReferences"] = [_owner]
    made: Any = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": draw(_spec)}
    return request(made, CONTROLLER if made_by_controller else ALICE)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory, engine: EmbeddedEngine) -> Judge:
    """Three profiles, each with its own defaults: the stricter, the sooner it is taken."""
    folder = Folder(tmp_path_factory.mktemp("world") / "cluster")
    strict: dict[str, Any] = {"env": [{"name": "STRICT", "value": "1"}]}
    with_defaults(
        folder, "strict", 10, "run-as/**", "limits/**", "container/writable-root", **strict
    )
    rest = ("run-as/**", "limits/**", "container/*", "token/*")
    with_defaults(folder, "lax", 20, *LAX, *rest, "capability/CHOWN", **ALL_DEFAULTS)
    drops: dict[str, Any] = {"capabilities": {"drop": ["NET_RAW", "CHOWN"]}}
    with_defaults(folder, "open", 30, "**", **drops, allowPrivilegeEscalation=False)
    job = {"name": "o", "namespace": "train", "uid": "u"}
    folder.documents.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": job})
    return judge_of(folder.cluster(), engine)


def _needs(decision: Decision) -> set[str]:
    return {need.privilege for need in decision.evidence.needs}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that says something; absent, null and empty are the same here."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            named = inner.get("name", index) if isinstance(inner, dict) else index
            yield from _leaves(inner, f"{path}/{index if 'olume' not in path else named}")
    elif value is not None:
        yield path, value


_every = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_every
@given(asked=_requests())
def test_twice_is_once_and_the_final_state_is_what_was_promised(
    judge: Judge, asked: Request
) -> None:
    """A second pass patches nothing; the same profile admits what the first made; no new need."""

    async def both() -> None:
        first, _, after = await mutated(judge, asked)
        _, again, _ = await mutated(judge, after)
        assert again == []
        before, final = [await judge.validate(each, budget=5.0) for each in (asked, after)]
        assert final.verdict is before.verdict
        assert _needs(final) <= _needs(before)
        if first.filled:
            assert (final.verdict, final.profile) == (Verdict.ALLOW, first.profile)
            assert first.profile == before.profile

    asyncio.run(both())


@_every
@given(asked=_requests())
def test_nothing_that_is_there_is_overwritten(judge: Judge, asked: Request) -> None:
    """All that its author wrote is there afterwards; only the mounted token goes, whole."""

    async def once() -> Request:
        return (await mutated(judge, asked))[2]

    after = asyncio.run(once())
    assert asked.object is not None
    assert after.object is not None
    old = dict(_leaves(msgspec.json.decode(asked.object)))
    new = dict(_leaves(msgspec.json.decode(after.object)))
    lost = {path for path in old if new.get(path) != old[path]}
    assert all("/volume" in path and "kube-api-access-" in path for path in lost)


async def test_a_container_that_comes_later_is_filled_in_too(judge: Judge) -> None:
    """kube-apiserver asks again where another webhook has changed the Pod."""
    container = {"name": "main", "image": IMAGE}
    made = {"metadata": {"name": "llama-0"}, "spec": {"containers": [container]}}
    _, _, after = await mutated(judge, request(made))
    assert after.object is not None
    injected = msgspec.json.decode(after.object)
    injected["spec"]["containers"].append({"name": "sidecar", "image": IMAGE})
    _, patches, _ = await mutated(judge, request(injected))
    assert {patch["path"] for patch in patches} == {
        "/spec/containers/1/securityContext",
        "/spec/containers/1/env",
    }
