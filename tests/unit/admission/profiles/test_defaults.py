"""What of a new Pod is filled in from the defaults of the profile that it is admitted under."""

from typing import Any

import pytest

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.both_passes import (
    ALL_DEFAULTS,
    LAX,
    REST,
    bare,
    mutated,
    with_defaults,
)
from tests.unit.admission.world import IMAGE, Folder, judge_of, request

VOLUME = "kube-api-access-x7k2p"
MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount"


def one(**container: Any) -> dict[str, Any]:
    """Return `bare` with a changed container."""
    made = bare()
    made["spec"]["containers"][0] |= container
    return made


@pytest.fixture
def lax(folder: Folder) -> Folder:
    """Everyone may use a profile that covers what the absences need, and fills all of them."""
    return with_defaults(folder, "lax", 5, *LAX, *REST, **ALL_DEFAULTS)


async def filled(engine: EmbeddedEngine, folder: Folder, made: dict[str, Any]) -> dict[str, Any]:
    """Return path and value of each field that is filled in (None where it is taken out)."""
    decision = await judge_of(folder.cluster(), engine).mutate(request(made), budget=5.0)
    assert decision.verdict is Verdict.ALLOW, decision.message
    return {patch["path"]: patch.get("value") for patch in decision.filled}


NO_GPU = [
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
    {"name": "AMD_VISIBLE_DEVICES", "value": "void"},
]
STRICT = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


async def test_all_that_is_absent_is_filled_in(engine: EmbeddedEngine, lax: Folder) -> None:
    """One operation for each field, or for the object that it would lie in."""
    init = {"name": "init", "image": IMAGE, "securityContext": {"runAsUser": 1}, "env": NO_GPU[:1]}
    assert await filled(engine, lax, bare(initContainers=[init])) == {
        "/spec/securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "/spec/containers/0/securityContext": STRICT,
        "/spec/initContainers/0/securityContext/allowPrivilegeEscalation": False,
        "/spec/initContainers/0/securityContext/capabilities": {"drop": ["ALL"]},
        "/spec/containers/0/env": NO_GPU,
        "/spec/initContainers/0/env/-": NO_GPU[1],
        "/spec/automountServiceAccountToken": False,
    }


async def test_defaults_change_no_field_that_is_set(engine: EmbeddedEngine, lax: Folder) -> None:
    """Nothing is done to a Pod that says everything, whatever it says."""
    lax.documents[2]["spec"]["privileges"].append("**")
    context = {
        "allowPrivilegeEscalation": True,
        "capabilities": {"drop": ["NET_RAW"]},
        "seccompProfile": {"type": "Unconfined"},
    }
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "AMD_VISIBLE_DEVICES"}]
    made = one(securityContext=context, env=env)
    made["spec"]["automountServiceAccountToken"] = True
    assert await filled(engine, lax, made) == {}


@pytest.mark.parametrize(
    ("context", "due"),
    [
        ({"privileged": True}, {}),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, {"capabilities/drop": ["ALL"]}),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, {"capabilities/drop": ["ALL"]}),
        ({"capabilities": {"add": ["all"]}}, {}),
        ({"capabilities": {}}, {"capabilities/drop": ["ALL"], "allowPrivilegeEscalation": False}),
        (
            {"capabilities": {"add": ["CHOWN"]}},
            {"capabilities/drop": ["ALL"], "allowPrivilegeEscalation": False},
        ),
        ({"capabilities": {"drop": ["CHOWN"]}}, {"allowPrivilegeEscalation": False}),
        ({}, {"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}),
        (None, {"": STRICT}),
    ],
)
async def test_security_context_of_a_container(
    engine: EmbeddedEngine, lax: Folder, context: dict[str, Any] | None, due: dict[str, Any]
) -> None:
    """Never what kube-apiserver refuses beside what is there, or what would not hold."""
    lax.documents[2]["spec"]["privileges"].append("**")
    found = await filled(engine, lax, one(securityContext=context))
    start = "/spec/containers/0/securityContext"
    of_container = {path: value for path, value in found.items() if path.startswith(start)}
    assert of_container == {f"{start}/{path}".rstrip("/"): value for path, value in due.items()}


async def test_a_capability_that_is_added_is_not_dropped(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A runtime drops after it adds: the author's own field would be without effect."""
    drops = {"drop": ["NET_RAW", "CHOWN"]}
    with_defaults(folder, "lax", 5, *LAX, *REST, capabilities=drops)
    for added in ("NET_RAW", "CAP_NET_RAW", "net_raw"):
        made = one(securityContext={"capabilities": {"add": [added]}})
        path = "/spec/containers/0/securityContext/capabilities/drop"
        assert await filled(engine, folder, made) == {path: ["CHOWN"]}


@pytest.mark.parametrize(
    ("of_pod", "of_container", "due"),
    [
        (None, None, {"/spec/securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
        ({}, None, {"/spec/securityContext/seccompProfile": {"type": "RuntimeDefault"}}),
        ({"seccompProfile": {"type": "RuntimeDefault"}}, None, {}),
        ({"seccompProfile": {"type": "Unconfined"}}, None, {}),
        (None, {"type": "Unconfined"}, {}),
    ],
)
async def test_seccomp_is_filled_in_for_the_pod(
    engine: EmbeddedEngine, folder: Folder, of_pod: Any, of_container: Any, due: dict[str, Any]
) -> None:
    """Once, where a container has no profile of its own and gets none from its Pod."""
    with_defaults(folder, "lax", 5, "**", seccompProfile={"type": "RuntimeDefault"})
    made = one(securityContext={"seccompProfile": of_container})
    made["spec"]["securityContext"] = of_pod
    assert await filled(engine, folder, made) == due


async def test_windows_has_no_such_fields(engine: EmbeddedEngine, lax: Folder) -> None:
    """kube-apiserver refuses them there; variables and the token are the same everywhere."""
    assert (await filled(engine, lax, bare(os={"name": "windows"}))).keys() == {
        "/spec/containers/0/env",
        "/spec/automountServiceAccountToken",
    }


@pytest.mark.parametrize(
    ("resources", "missing"),
    [
        ({"limits": {"nvidia.com/gpu": "1"}}, {"AMD_VISIBLE_DEVICES"}),
        ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, {"AMD_VISIBLE_DEVICES"}),
        ({"requests": {"nvidia.com/gpu": "1"}}, {"AMD_VISIBLE_DEVICES"}),
        ({"limits": {"amd.com/gpu": "8"}}, {"NVIDIA_VISIBLE_DEVICES"}),
        ({"limits": {"amd.com/other": "8"}}, {"NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"}),
        ({"limits": {"nvidia.com/gpu": "0"}}, {"NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"}),
        ({"claims": [{"name": "gpu"}]}, {"NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"}),
        (None, {"NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"}),
    ],
)
async def test_variables_are_for_containers_without_the_resource(
    engine: EmbeddedEngine, lax: Folder, resources: Any, missing: set[str]
) -> None:
    """A container that asks for a GPU is left to its device plugin; a request of 0 is none."""
    found = (await filled(engine, lax, one(resources=resources)))["/spec/containers/0/env"]
    assert {each["name"] for each in found} == missing


def token(**mount: Any) -> dict[str, Any]:
    """Return a Pod as kube-apiserver's ServiceAccount plugin leaves it."""
    mounts = [
        {"name": "data", "mountPath": "/data"},
        {"name": VOLUME, "mountPath": MOUNTED} | mount,
    ]
    source = {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}]}
    made = one(volumeMounts=mounts)
    volumes = [{"name": VOLUME, "projected": source}, {"name": "data", "emptyDir": {}}]
    made["spec"]["volumes"] = volumes
    return made


async def test_mounted_token_is_taken_out(engine: EmbeddedEngine, lax: Folder) -> None:
    """kube-apiserver mounts it before it asks: the field alone would say what is not so."""
    judge = judge_of(lax.cluster(), engine)
    _, _, after = await mutated(judge, request(token()))
    assert after.object is not None
    assert MOUNTED.encode() not in bytes(after.object)
    assert VOLUME.encode() not in bytes(after.object)
    assert b'"mountPath":"/data"' in bytes(after.object)
    assert b'"emptyDir":{}' in bytes(after.object)
    decision = await judge.validate(after, budget=5.0)
    assert "token/automount" not in {need.privilege for need in decision.evidence.needs}


async def test_used_token_stays(engine: EmbeddedEngine, lax: Folder) -> None:
    """A volume that a container mounts elsewhere was asked for."""
    found = await filled(engine, lax, token(mountPath="/token"))
    assert not [path for path in found if "volume" in path or "automount" in path]
