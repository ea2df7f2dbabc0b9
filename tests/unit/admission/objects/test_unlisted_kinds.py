"""Objects of kinds that nobody listed: judged by what has the shape of a Pod template in them."""

import copy
from typing import Any, Final

import pytest

from admission.objects.workloads import MISSHAPEN, NO_TEMPLATE, OWNED_BY_ANOTHER
from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation, Phase
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, BOB, Folder, judge_of, pod, request, rules

WIDGET: Final = Kind("Widget", "v1", "example.com")
REQUESTER: Final = "sallyport.dev/requester"

OWNER: Final = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "j",
    "uid": "u",
    "controller": True,
}

SAME_NAMES: Final = [
    Kind("Deployment", "v1", "example.org"),
    Kind("Pod", "v1", "metrics.k8s.io"),
    Kind("Namespace", "v1", "example.org"),
    Kind("PodExecOptions", "v1", "example.org"),
    Kind("Binding", "v1", "example.org"),
]


def widget(requester: str = "", above: Any = None, size: int = 1, **spec: Any) -> dict[str, Any]:
    """Return an object with one template, whose Pods are restricted but for `spec`."""
    metadata: dict[str, Any] = {"name": "w", "namespace": "train"}
    if requester:
        metadata["annotations"] = {REQUESTER: requester}
    if above:
        metadata["ownerReferences"] = [above]
    template = {"spec": pod(**spec)["spec"]}
    return {"metadata": metadata, "spec": {"size": size, "workers": [{"template": template}]}}


@pytest.fixture
def world(folder: Folder) -> Folder:
    """Alice may use the host's network, Bob nothing but images."""
    folder.profile("net", 20, "host/network").profile("none", 10)
    return folder.grant(f"User:{ALICE.username}", "net").grant(f"User:{BOB.username}", "none")


async def judged(  # noqa: PLR0913  What a review is made of.
    engine: EmbeddedEngine,
    world: Folder,
    made: object,
    by: Subject = ALICE,
    *,
    old: object = None,
    phase: Phase = Phase.VALIDATING,
    **more: Any,
) -> Decision:
    """Return the decision of one pass of kube-apiserver."""
    operation = Operation.UPDATE if old else Operation.CREATE
    fields = {"kind": WIDGET, "name": "w", "phase": phase} | more
    judge = judge_of(world.cluster(), engine)
    asked = request(made, by, old=old, operation=operation, **fields)
    passes = judge.mutate if phase is Phase.MUTATING else judge.validate
    return await passes(asked, budget=5.0)


async def test_its_templates_are_judged_for_who_submits_it(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """By the profile that they may use, with the path in the object."""
    made = widget(hostNetwork=True)
    assert (await judged(engine, world, made)).profile == "net"
    refused = await judged(engine, world, made, BOB)
    (found,) = [each for each in refused.findings if each.privilege == "host/network"]
    assert found.path.startswith("spec.workers[0].template.spec")


async def test_what_its_operator_may_fill_in_is_left_to_the_pods(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Only what is there counts: an absent security context is no finding."""
    made = widget()
    spec = made["spec"]["workers"][0]["template"]["spec"]
    del spec["securityContext"], spec["containers"][0]["securityContext"]
    assert (await judged(engine, world, made, BOB)).verdict is Verdict.ALLOW


async def test_an_update_counts_where_it_changes_a_template(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """As of every workload: Bob may scale what Alice made, and not have its Pods changed."""
    old = widget(hostNetwork=True)
    scaled = await judged(engine, world, widget(hostNetwork=True, size=2), BOB, old=old)
    assert (scaled.verdict, scaled.evidence.left_alone != "") == (Verdict.ALLOW, True)
    changed = widget(hostNetwork=True, terminationGracePeriodSeconds=1)
    assert (await judged(engine, world, changed, BOB, old=old)).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"metadata": {"name": "w"}, "spec": {"size": 1}}, NO_TEMPLATE),
        ({"metadata": {"name": "w"}}, NO_TEMPLATE),
        (widget(above=OWNER, hostNetwork=True), OWNED_BY_ANOTHER),
        (widget(hostNetwork=True, volumes="none"), MISSHAPEN),
    ],
)
async def test_in_doubt_it_is_left_alone(
    engine: EmbeddedEngine, world: Folder, made: object, why: str
) -> None:
    """Its Pods are judged in any case; the decision says why it was not."""
    decision = await judged(engine, world, made, BOB)
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone.startswith(why)


@pytest.mark.parametrize("kind", SAME_NAMES)
async def test_a_kind_that_shares_a_name_is_read_by_its_shape_alone(
    engine: EmbeddedEngine, world: Folder, kind: Kind
) -> None:
    """Another group's Pod is no Pod: what it has beside containers means nothing."""
    made = {"metadata": {"name": "a"}, "spec": {"hostNetwork": True, "hostPID": True}}
    decision = await judged(engine, world, made, BOB, kind=kind)
    assert (decision.verdict, decision.evidence.left_alone) == (Verdict.ALLOW, NO_TEMPLATE)


@pytest.mark.parametrize("namespace", ["train", ""])
async def test_who_asks_is_noted(engine: EmbeddedEngine, world: Folder, namespace: str) -> None:
    """On what has templates, in a namespace or not; the profile is not: nothing says all Pods."""
    noted = await judged(engine, world, widget(), phase=Phase.MUTATING, namespace=namespace)
    assert noted.recorded == {REQUESTER: ALICE.label}
    plain = {"metadata": {"name": "w"}, "spec": {"size": 1}}
    assert (await judged(engine, world, plain, phase=Phase.MUTATING)).recorded == {}


async def test_nobody_else_is_named(engine: EmbeddedEngine, world: Folder) -> None:
    """Neither when it is made nor later; that the note is missing is nobody's fault."""
    forged = await judged(engine, world, widget(requester=BOB.label))
    assert rules(forged) == [("notes/requester", None)]
    assert (await judged(engine, world, widget())).verdict is Verdict.ALLOW
    old = widget(requester=ALICE.label)
    changed = copy.deepcopy(old)
    changed["metadata"]["annotations"][REQUESTER] = BOB.label
    assert (await judged(engine, world, changed, BOB, old=old)).verdict is Verdict.DENY
