"""Objects without the shape that their kind demands: an error that names the field."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision.decision import Verdict
from core.decision.request import Operation
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import (
    ADMIN,
    NAMESPACE,
    POD,
    Folder,
    decide,
    pod,
    request,
    update,
)


def with_container(**fields: Any) -> dict[str, Any]:
    """Return a Pod with one container's fields changed."""
    made = pod()
    made["spec"]["containers"][0] |= fields
    return made


DEEP = b"[" * 50_000 + b"]" * 50_000
BROKEN: list[tuple[object, str]] = [
    (None, "object"),
    (b"null", ""),
    (b"[]", ""),
    (b"", ""),
    (b'{"spec": ', ""),
    (b'{"metadata": {"name": "\xff"}}', ""),
    (pod() | {"metadata": None}, "metadata"),
    (pod() | {"metadata": []}, "metadata"),
    (pod() | {"spec": None}, "spec"),
    (pod() | {"spec": "x"}, "spec"),
    (pod(containers=None), "spec.containers"),
    (pod(containers=[]), "spec.containers"),
    (pod(containers={}), "spec.containers"),
    (pod(containers=[None]), "spec.containers[0]"),
    (pod(containers="x"), "spec.containers"),
    (pod(initContainers=[[]]), "spec.initContainers[0]"),
    (pod(ephemeralContainers=[{"name": 1}]), "spec.ephemeralContainers[0].name"),
    (pod(hostNetwork="true"), "spec.hostNetwork"),
    (pod(hostNetwork=1), "spec.hostNetwork"),
    (pod(hostUsers="no"), "spec.hostUsers"),
    (pod(os="linux"), "spec.os"),
    (pod(volumes={}), "spec.volumes"),
    (pod(volumes=["x"]), "spec.volumes[0]"),
    (pod(volumes=[{"name": "v", "hostPath": "/"}]), "spec.volumes[0].hostPath"),
    (pod(volumes=[{"name": "v", "hostPath": {"path": 1}}]), "spec.volumes[0].hostPath.path"),
    (pod(volumes=[{"name": [], "nfs": {}}]), "spec.volumes[0].name"),
    (pod(securityContext={"runAsUser": "0"}), "spec.securityContext.runAsUser"),
    (pod(securityContext={"runAsUser": 0.5}), "spec.securityContext.runAsUser"),
    (pod(securityContext={"sysctls": [{"name": 1}]}), "spec.securityContext.sysctls[0].name"),
    (
        with_container(securityContext={"privileged": "yes"}),
        "spec.containers[0].securityContext.privileged",
    ),
    (
        with_container(securityContext={"capabilities": {"add": "ALL"}}),
        "spec.containers[0].securityContext.capabilities.add",
    ),
    (
        with_container(securityContext={"capabilities": {"add": [None]}}),
        "spec.containers[0].securityContext.capabilities.add[0]",
    ),
    (with_container(ports=[{"hostPort": "80"}]), "spec.containers[0].ports[0].hostPort"),
    (with_container(volumeMounts=[{"readOnly": 1}]), "spec.containers[0].volumeMounts[0].readOnly"),
    (with_container(livenessProbe=[]), "spec.containers[0].livenessProbe"),
    (pod(annotations={"a": "b"}) | {"metadata": {"annotations": []}}, "metadata.annotations"),
    ({"metadata": {"annotations": {"a": 1}}}, "metadata.annotations[...]"),
    ({"metadata": {"ownerReferences": {}}}, "metadata.ownerReferences"),
    (b'{"x": ' + DEEP + b"}", ""),
    (b'{"spec": {"volumes": [{"name": "v", "nfs": ' + DEEP + b"}]}}", ""),
]


@pytest.mark.parametrize(("made", "field"), BROKEN)
async def test_broken_pod_is_an_error_that_names_the_field(
    engine: EmbeddedEngine, folder: Folder, made: object, field: str
) -> None:
    """Never a denial, never admitted: not for system:masters either."""
    decision = await decide(folder.cluster(), engine, request(made, ADMIN))
    assert (decision.verdict, decision.allowed, decision.error_kind) == (
        Verdict.ERROR,
        False,
        "object",
    )
    assert decision.reason.startswith(f"Pod: {field}: " if field else "Pod: ")
    assert decision.reason in decision.message


async def test_too_deep_an_object_says_so(engine: EmbeddedEngine, folder: Folder) -> None:
    """Nesting is bounded, and the message says that it is that."""
    decision = await decide(folder.cluster(), engine, request(b'{"x": ' + DEEP + b"}"))
    assert "recursion" in decision.reason


@pytest.mark.parametrize("old", [b"[]", b"{", {"spec": {"containers": 1}}])
async def test_broken_old_pod_is_an_error(
    engine: EmbeddedEngine, folder: Folder, old: object
) -> None:
    """What cannot be compared is not taken to be unchanged."""
    decision = await decide(folder.cluster(), engine, update(pod(), old, ADMIN))
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "object")


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (None, "object"),
        (b"[]", ""),
        (b"{", ""),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"labels": []}}, "metadata.labels"),
        ({"metadata": {"labels": {"control-plane": 1}}}, "metadata.labels[...]"),
        ({"metadata": {"annotations": "x"}}, "metadata.annotations"),
        (b'{"metadata": {"labels": {"a": "\xff"}}}', ""),
        (b'{"x": ' + DEEP + b"}", ""),
    ],
)
@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.UPDATE])
async def test_broken_namespace_is_an_error_that_names_the_field(
    engine: EmbeddedEngine, folder: Folder, made: object, field: str, operation: Operation
) -> None:
    """A mark that cannot be read is not taken to be absent."""
    asked = request(made, ADMIN, operation=operation, kind=NAMESPACE, name="train")
    decision = await decide(folder.cluster(), engine, asked)
    assert (decision.verdict, decision.allowed, decision.error_kind) == (
        Verdict.ERROR,
        False,
        "object",
    )
    assert decision.reason.startswith(f"Namespace: {field}: " if field else "Namespace: ")


PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda child: (
        st.lists(child, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                "metadata spec containers volumes name hostPath securityContext".split()
            )
            | st.text(max_size=4),
            child,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    part=PARTS,
    place=st.sampled_from(
        "metadata spec spec.containers spec.volumes spec.securityContext".split()
    ),
    kind=st.sampled_from([POD, NAMESPACE]),
)
async def test_any_json_gets_a_decision(
    engine: EmbeddedEngine, part: Any, place: str, kind: Any
) -> None:
    """Whatever stands in the place of a part: an answer, and never another exception.

    A field that nobody knows is a warning.
    """
    made = pod()
    *parents, last = place.split(".")
    (made["spec"] if parents else made)[last] = part
    raw = json.dumps(made).encode()
    decision = await decide(FolderCluster(None), engine, request(raw, kind=kind, name="a"))
    assert decision.allowed is (decision.verdict in {Verdict.ALLOW, Verdict.WARN})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(raw=st.binary(max_size=40))
async def test_any_bytes_get_a_decision(engine: EmbeddedEngine, raw: bytes) -> None:
    """Bytes that are no JSON are an error about the object."""
    decision = await decide(FolderCluster(None), engine, request(raw or b" "))
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "object")
