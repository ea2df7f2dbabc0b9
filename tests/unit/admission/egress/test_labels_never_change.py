"""Labels of egress never change, and nothing else carries them to a Pod."""

from operator import attrgetter

import pytest

from admission.explain.explanation import explain
from core.decision.decision import Verdict
from core.decision.document import build_document
from core.decision.request import Kind, Operation, Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.labelled_pods import (
    ACCOUNT,
    DUE,
    PATHS,
    WORKLOAD,
    held,
    judge,
    labelled,
    told,
)
from tests.unit.admission.world import Folder, pod, request, update


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """A cluster with namespaces that are enrolled, and others that are not."""
    return held(folder)


@pytest.mark.parametrize("subresource", ["", "status", "ephemeralcontainers", "resize"])
@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (DUE, DUE | {"app": "y"}, []),
        (DUE, DUE | {ACCOUNT: "other"}, [ACCOUNT]),
        (DUE, {ACCOUNT: "trainer"}, [WORKLOAD]),
        (DUE, {}, [ACCOUNT, WORKLOAD]),
        ({}, DUE, [ACCOUNT, WORKLOAD]),
        ({"egress.sallyport.dev/x": "1"}, {"egress.sallyport.dev/x": "1", "a": "b"}, []),
        ({ACCOUNT: "wrong"}, {ACCOUNT: "wrong"}, []),
    ],
)
@pytest.mark.parametrize("place", ["train", "web"])
async def test_egress_labels_of_a_pod_never_change(  # noqa: PLR0913, PLR0917  Each is one way to write them.
    engine: EmbeddedEngine,
    cluster: Watched,
    place: str,
    old: dict[str, str],
    new: dict[str, str],
    keys: list[str],
    subresource: str,
) -> None:
    """By whatever way; and what is wrong, but stays as it was, keeps no Pod from being ended."""
    asked = update(
        labelled(new),
        labelled(old),
        namespace=place,
        phase=Phase.VALIDATING,
        subresource=subresource,
    )
    decision = await judge(cluster, engine).validate(asked, budget=10.0)
    assert told(decision) == [("egress/labels", f"metadata.labels[{key}]") for key in keys]
    assert decision.allowed is not bool(keys)


async def test_a_binding_carries_none(engine: EmbeddedEngine, cluster: Watched) -> None:
    """kube-apiserver would copy its labels to the Pod."""
    made = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "llama-0", "namespace": "web", "labels": {ACCOUNT: "x"}},
        "target": {"kind": "Node", "name": "n1"},
    }
    for subresource in ("", "binding"):
        asked = request(
            made,
            namespace="web",
            kind=Kind("Binding", "v1"),
            subresource=subresource,
            phase=Phase.VALIDATING,
        )
        decision = await judge(cluster, engine).validate(asked, budget=10.0)
        assert ("egress/labels", PATHS[0]) in told(decision)


async def test_a_binding_that_cannot_be_judged_carries_none(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Also where Pods only warn: its labels would be the Pod's once the namespace is enrolled."""
    cluster.lost = "profiles"
    for labels, allowed in (({ACCOUNT: "x"}, False), ({"app": "x"}, True)):
        made = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "llama-0", "namespace": "lax", "labels": labels},
            "target": {"kind": "Node", "name": "n1"},
        }
        asked = request(
            made,
            namespace="lax",
            kind=Kind("Binding", "v1"),
            subresource="binding",
            phase=Phase.VALIDATING,
        )
        decision = await judge(cluster, engine).validate(asked, budget=10.0)
        assert decision.allowed is allowed


async def test_a_template_carries_none(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Its author is told as it is submitted, with its place; also where Pods only warn."""
    template = {"metadata": {"labels": {"app": "x", ACCOUNT: "x"}}, "spec": pod()["spec"]}
    made = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "lax"},
        "spec": {"jobTemplate": {"spec": {"template": template}}},
    }
    asked = request(made, namespace="lax", kind=Kind("CronJob", "v1", "batch"))
    decision = await judge(cluster, engine).validate(asked, budget=10.0)
    path = f"spec.jobTemplate.spec.template.{PATHS[0]}"
    assert [each.path for each in decision.findings if each.rule == "egress/labels"] == [path]
    assert decision.allowed is False


async def test_of_what_runs_nothing_is_said(engine: EmbeddedEngine, cluster: Watched) -> None:
    """The sweep cannot tell who set a label; `sallyport egress plan` names Pods without."""
    asked = request(labelled(), running=True, operation=Operation.CREATE)
    decision = await judge(cluster, engine).validate(asked, budget=10.0)
    assert (decision.verdict, decision.findings) == (Verdict.ALLOW, [])


async def test_explain_says_what_to_do(engine: EmbeddedEngine, cluster: Watched) -> None:
    """The label's remedy, and beside it what else is wrong."""
    asked = request(
        labelled({ACCOUNT: "other"}, pod(hostNetwork=True)),
        namespace="web",
        phase=Phase.VALIDATING,
    )
    decision = await judge(cluster, engine).validate(asked, budget=10.0)
    document = build_document(
        "validate", asked, decision, cluster="c1", seconds=0.1, name_subject=attrgetter("label")
    )
    first, second, *_ = explain(document).changes
    assert first.what == "put right what holds egress:"
    assert [(each.path, each.remedy) for each in first.fields] == [
        (PATHS[0], "Leave the label out.")
    ]
    assert "spec.hostNetwork" in [each.path for each in second.fields]
