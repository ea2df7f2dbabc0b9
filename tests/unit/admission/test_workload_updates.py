"""Updates of workloads: judged where a template changes, and never otherwise."""

import copy
from typing import Any

import pytest

from core.decision import Decision, Verdict
from core.request import Operation
from policies.engine.embedded import EmbeddedEngine
from tests.unit.admission.test_workloads import DEPLOYMENT, asked, judged, template
from tests.unit.admission.world import BOB, Folder, decide
from tests.unit.core.samples import Json, wrapped


async def updated(
    engine: EmbeddedEngine, folder: Folder, old: Json, new: Json, **more: Any
) -> Decision:
    """Give the decision on BOB's update, who may use nothing."""
    return await judged(
        engine, folder, DEPLOYMENT, new, subject=BOB, old=old, operation=Operation.UPDATE, **more
    )


CHANGED: dict[str, Any] = {
    "replicas": lambda made: made["spec"].update(replicas=7),
    "paused": lambda made: made["spec"].update(paused=True),
    "labels": lambda made: made["metadata"].update(labels={"a": "b"}),
    "finalizers": lambda made: made["metadata"].update(finalizers=[]),
    "restart": lambda made: made["spec"]["template"]["metadata"].update(
        annotations={"kubectl.kubernetes.io/restartedAt": "now"}
    ),
}

ROLLED: dict[str, Any] = {
    "command": lambda pods: pods["spec"]["containers"][0].update(command=["sh"]),
    "image": lambda pods: pods["spec"]["containers"][0].update(image="example.org/x"),
    "account": lambda pods: pods["spec"].update(serviceAccountName="other"),
    "label": lambda pods: pods["metadata"]["labels"].update(b="c"),
    "annotation": lambda pods: pods["metadata"].update(annotations={"x": "y"}),
    "host": lambda pods: pods["spec"].update(hostNetwork=True),
}


@pytest.mark.parametrize("change", CHANGED)
async def test_an_update_that_changes_no_pod_is_left_alone(
    change: str, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whoever asks, also of what would be refused today."""
    old = wrapped(DEPLOYMENT, template(hostPID=True))
    new = copy.deepcopy(old)
    CHANGED[change](new)
    decision = await updated(engine, folder, old, new)
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "the update changes no Pod template"


@pytest.mark.parametrize("change", ROLLED)
async def test_an_update_of_a_template_is_judged_for_who_asks(
    change: str, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Also where policies see no difference: another command runs under the same profile."""
    old = wrapped(DEPLOYMENT, template(hostPID=True))
    new = copy.deepcopy(old)
    ROLLED[change](new["spec"]["template"])
    decision = await updated(engine, folder, old, new)
    assert decision.verdict is Verdict.DENY
    assert decision.subjects == [BOB.label]


async def test_what_is_broken_can_be_mended_and_deleted(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """An old object has no shape to be demanded; a new one has only where it changes."""
    folder.profile("good", 10).grant("User:bob@example.com", "good")
    broken = wrapped(DEPLOYMENT, template())
    broken["spec"]["template"] = "none"
    last = copy.deepcopy(broken)
    last["metadata"]["finalizers"] = []
    assert (await updated(engine, folder, broken, last)).verdict is Verdict.ALLOW
    mended = wrapped(DEPLOYMENT, template())
    assert (await updated(engine, folder, broken, mended)).verdict is Verdict.ALLOW
    again = await updated(engine, folder, mended, broken)
    assert (again.verdict, again.field) == (Verdict.ERROR, "spec.template")


async def test_status_and_scale_are_left_alone(engine: EmbeddedEngine, folder: Folder) -> None:
    """A direct call of the gate gets no other answer than kube-apiserver's."""
    made = wrapped(DEPLOYMENT, template(hostPID=True))
    decision = await updated(
        engine, folder, wrapped(DEPLOYMENT, template()), made, subresource="status"
    )
    assert decision.verdict is Verdict.ALLOW
    deleted = asked(DEPLOYMENT, None, BOB, old=made, operation=Operation.DELETE)
    assert (await decide(folder.cluster(), engine, deleted)).verdict is Verdict.ALLOW
